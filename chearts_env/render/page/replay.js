"use strict";
// Shows positions that the engine has written down; it knows no rule of the game.
const data = JSON.parse(document.getElementById("data").textContent);
const SUITS = { C: ["clubs", "\u2663"], D: ["diamonds", "\u2666"], S: ["spades", "\u2660"], H: ["hearts", "\u2665"] };
const RANKS = { T: "10", J: "jack", Q: "queen", K: "king", A: "ace" };
const at = (id) => document.getElementById(id);
let hand = data.hands[0], place = 0, view = "all", timer = null;

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}
function cardWords(card) {
  return SUITS[card[1]] ? `${RANKS[card[0]] || card[0]} of ${SUITS[card[1]][0]}` : card;
}
function cardElement(card, cancelled, chosen) {
  if (!SUITS[card[1]]) return element("span", card, "card");
  const [suit, sign] = SUITS[card[1]];
  const made = element("span", (card[0] === "T" ? "10" : card[0]) + sign,
    `card ${suit}${cancelled ? " cancelled" : ""}${chosen ? " chosen" : ""}`);
  made.setAttribute("aria-label", cardWords(card) + (cancelled ? ", cancelled" : ""));
  return made;
}
const cardsOf = (text) => (text ? text.split(" ") : []);
const nameOf = (seat) => (hand.players ? `P${seat} ${hand.players[seat]}` : `P${seat}`);
const sees = (seat) => view === "all" || Number(view) === seat;

function showTable(position) {
  at("table").replaceChildren(...hand.positions[place].hands.map((text, seat) => {
    const box = element("div", undefined, `seat${position.mover === seat ? " moves" : ""}`);
    const name = element("div", undefined, "name");
    const marks = [[hand.dealer, "dealt"], [position.leader, "leads"], [position.kitty_taker, "kitty"]]
      .filter(([who]) => who === seat).map(([, word]) => word);
    name.append(element("span", nameOf(seat)),
      element("small", [...marks, `${position.points[seat]} points`].join(", ")));
    const list = element("ul", undefined, "cards");
    const cards = cardsOf(text);
    if (sees(seat)) {
      let marked = position.mover !== seat;
      for (const card of cards) {
        const item = element("li");
        item.append(cardElement(card, false, !marked && card === position.action));
        marked = marked || card === position.action;
        list.append(item);
      }
    } else {
      list.setAttribute("aria-label", `${cards.length} cards face down`);
      for (const _ of cards) list.append(element("li", "?", "card back"));
    }
    box.append(name, list);
    return box;
  }));
}
function showMiddle(position) {
  const faces = position.trick.map(([, card]) => card);
  at("trick").replaceChildren(...position.trick.map(([seat, card]) => {
    const item = element("li", `${nameOf(seat)} `);
    item.append(cardElement(card, faces.filter((other) => other === card).length === 2));
    return item;
  }));
  at("outcome").textContent = position.outcome || "";
  at("pile").replaceChildren(...cardsOf(position.pile).map((card) => cardElement(card)));
  if (!position.pile) at("pile").textContent = "nothing";
  const shown = view === "all" || position.kitty_seen.includes(Number(view));
  at("kitty").replaceChildren();
  if (!hand.kitty) at("kitty").textContent = "none";
  else if (shown) at("kitty").append(...cardsOf(hand.kitty).map((card) => cardElement(card)));
  else at("kitty").textContent = `${cardsOf(hand.kitty).length} cards face down`;
}
function showChoices(position) {
  const shown = position.mover !== null && sees(position.mover);
  at("choices-title").textContent = position.mover === null ? "Choices" : `Choices of ${nameOf(position.mover)}`;
  const values = position.values;
  const numbers = values ? Object.values(values) : [];
  const low = Math.min(...numbers), span = Math.max(...numbers) - low || 1;
  const order = [...position.legal];
  if (values) order.sort((one, other) => (values[other] ?? -1e9) - (values[one] ?? -1e9));
  at("choices").replaceChildren(...(shown ? order : []).map((card) => {
    const item = element("li");
    item.append(cardElement(card, false, card === position.action));
    if (values && values[card] !== undefined) {
      const bar = element("span", undefined, "bar");
      bar.style.width = `${2 + 40 * (values[card] - low) / span}%`;
      item.append(bar, values[card].toFixed(2));
    }
    if (card === position.action) item.append(" chosen");
    return item;
  }));
}
function says(position) {
  if (!place) return `The deal of hand ${hand.hand_number + 1}. ${nameOf(hand.dealer)} dealt.`;
  const before = hand.positions[place - 1];
  const hidden = before.phase === "pass" && !sees(before.mover);
  const what = { pass: "gives", play: "plays", moon: "settles the moon:" }[before.phase];
  const card = hidden ? "a card" : before.phase === "moon" ? before.action : `the ${cardWords(before.action)}`;
  return `${nameOf(before.mover)} ${what} ${card}. ${position.outcome || ""}`;
}
function show() {
  const position = hand.positions[place];
  showTable(position); showMiddle(position); showChoices(position);
  at("says").textContent = says(position);
  at("position").max = hand.positions.length - 1;
  at("position").value = place;
  at("number").textContent = `${place} of ${hand.positions.length - 1}`;
  for (const row of at("tricks").children) {
    row.hidden = view !== "all" && Number(row.dataset.to) > place; // a seat does not see what is to come
    row.classList.toggle("now", Number(row.dataset.from) <= place && place <= Number(row.dataset.to));
  }
  for (const id of ["first", "previous", "previous-trick"]) at(id).disabled = place === 0;
  for (const id of ["last", "next", "next-trick"]) at(id).disabled = place === hand.positions.length - 1;
  document.body.dataset.place = place;
}
function go(to) { place = Math.max(0, Math.min(to, hand.positions.length - 1)); show(); }
function goTrick(step) {
  const ends = [0, ...hand.tricks.map((trick) => trick.to), hand.positions.length - 1];
  go(step > 0 ? ends.find((end) => end > place) ?? place : [...ends].reverse().find((end) => end < place) ?? 0);
}
function playOn(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => (place < hand.positions.length - 1 ? go(place + 1) : playOn(false)), 700) : null;
  at("play").setAttribute("aria-pressed", String(on));
}
function showHand(number) {
  hand = data.hands[number];
  at("tricks").replaceChildren(...hand.tricks.map((trick, index) => {
    const row = element("tr");
    row.tabIndex = 0; row.dataset.from = trick.from; row.dataset.to = trick.to;
    const cards = element("td");
    cards.append(...trick.cards.flatMap((card) => [cardElement(card, trick.cards.filter((c) => c === card).length === 2), " "]));
    row.append(element("td", `${index + 1} (${nameOf(trick.leader)})`), cards,
      element("td", trick.winner === null ? "set aside" : nameOf(trick.winner)), element("td", trick.points));
    row.addEventListener("click", () => go(trick.to));
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") go(trick.to); });
    return row;
  }));
  showViews();
  showDoubts();
  showScores();
  go(0);
}
function showDoubts() {
  const doubts = hand.doubts.filter((doubt) => sees(doubt.seat));
  at("doubts").hidden = !doubts.length;
  at("doubt-list").replaceChildren(...doubts.map((doubt) => {
    const item = element("li"), button = element("button");
    button.append(element("span", `${nameOf(doubt.seat)}, decision ${doubt.place}: ${cardWords(doubt.action)} instead of `
      + `${cardWords(doubt.best)}, ${doubt.gap.toFixed(2)} less`));
    button.addEventListener("click", () => go(doubt.place));
    item.append(button);
    return item;
  }));
}
function showViews() {
  if (view !== "all" && Number(view) >= hand.positions[0].hands.length) view = "all";
  at("view").replaceChildren(new Option("all cards", "all"),
    ...hand.positions[0].hands.map((_, seat) => new Option(`as ${nameOf(seat)} sees it`, seat)));
  at("view").value = view;
}
function showScores() {
  const head = element("tr");
  head.append(element("th", "Hand"), ...hand.positions[0].hands.map((_, seat) => element("th", nameOf(seat))));
  for (const cell of head.children) cell.scope = "col";
  at("score-head").replaceChildren(head);
  at("scores").replaceChildren(...data.hands.filter((each) => each.positions[0].hands.length === hand.positions[0].hands.length)
    .map((each) => {
      const row = element("tr", undefined, each === hand ? "now" : "");
      row.append(element("td", each.hand_number + 1), ...each.score_changes.map((points, seat) =>
        element("td", `${points} (${each.scores[seat] + points})`)));
      return row;
    }));
}
data.hands.forEach((each, number) => at("hand").append(new Option(`${number + 1}`, number)));
at("hand").addEventListener("change", (event) => showHand(Number(event.target.value)));
at("view").addEventListener("change", (event) => { view = event.target.value; showDoubts(); show(); });
at("position").addEventListener("input", (event) => go(Number(event.target.value)));
const actions = {
  first: () => go(0), previous: () => go(place - 1), next: () => go(place + 1), last: () => go(hand.positions.length - 1),
  "previous-trick": () => goTrick(-1), "next-trick": () => goTrick(1), play: () => playOn(timer === null),
};
for (const [id, action] of Object.entries(actions)) at(id).addEventListener("click", action);
const keys = { Home: "first", End: "last", ArrowLeft: "previous", ArrowRight: "next", PageUp: "previous-trick",
  PageDown: "next-trick", " ": "play" };
document.addEventListener("keydown", (event) => {
  if (!keys[event.key] || event.target.matches("select, input, button, tr") && [" "].includes(event.key)) return;
  if (event.target.matches("select, input")) return;
  event.preventDefault();
  actions[keys[event.key]]();
});
showHand(0);
