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
function picture(text, className, words) {
  const made = element("span", text, className);
  made.setAttribute("role", "img"); // a name is only read where there is a role
  made.setAttribute("aria-label", words);
  return made;
}
function cardWords(card) {
  return SUITS[card[1]] ? `${RANKS[card[0]] || card[0]} of ${SUITS[card[1]][0]}` : card;
}
function cardElement(card, mark) {
  if (!SUITS[card[1]]) return element("span", card, `card ${mark || ""}`);
  const [suit, sign] = SUITS[card[1]];
  return picture((card[0] === "T" ? "10" : card[0]) + sign, `card ${suit} ${mark || ""}`,
    cardWords(card) + (mark ? `, ${mark}` : ""));
}
const cardsOf = (text) => (text ? text.split(" ") : []);
const cardElements = (cards) => cards.flatMap((card) => [cardElement(card), " "]);
const asTrick = (cards) => cards.map((card) =>
  cardElement(card, cards.filter((other) => other === card).length === 2 ? "cancelled" : ""));
const nameOf = (seat) => (hand.players ? `P${seat} ${hand.players[seat]}` : `P${seat}`);
const sees = (seat) => view === "all" || Number(view) === seat;
const isOver = () => place === hand.positions.length - 1;
function end() {
  // To one seat the length of a hand does not tell that there will be a moon to settle.
  const last = hand.positions.length - 1, moon = hand.positions.findIndex((position) => position.phase === "moon");
  return view !== "all" && place < moon ? moon : last;
}

function showTable(position) {
  at("table").replaceChildren(...position.hands.map((text, seat) => {
    const box = element("div", undefined, `seat${position.mover === seat ? " moves" : ""}`);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", nameOf(seat));
    const name = element("div", undefined, "name");
    const marks = [[position.mover, "to move"], [hand.dealer, "dealt"], [position.leader, "leads"], [position.kitty_taker, "kitty"]]
      .filter(([who]) => who === seat).map(([, word]) => word);
    const score = hand.scores[seat] + (isOver() ? hand.score_changes[seat] : 0);
    name.append(element("span", nameOf(seat)),
      element("small", [...marks, `${position.points[seat]} points`, `score ${score}`].join(", ")));
    const cards = cardsOf(text);
    if (sees(seat)) {
      const list = element("ul", undefined, "cards");
      let marked = position.mover !== seat;
      for (const card of cards) {
        const item = element("li");
        item.append(cardElement(card, !marked && card === position.action ? "chosen" : ""));
        marked = marked || card === position.action;
        list.append(item);
      }
      box.append(name, list);
    } else {
      const backs = picture(undefined, "cards", `${cards.length} cards face down`);
      for (const _ of cards) backs.append(element("span", undefined, "card back"));
      box.append(name, backs);
    }
    return box;
  }));
}
function showMiddle(position) {
  const cards = asTrick(position.trick.map(([, card]) => card));
  at("trick").replaceChildren(...position.trick.map(([seat], number) => {
    const item = element("li", `${nameOf(seat)} `);
    item.append(cards[number]);
    return item;
  }));
  at("outcome").textContent = position.outcome || "";
  at("pile").replaceChildren(...cardElements(cardsOf(position.pile)));
  if (!position.pile) at("pile").textContent = "nothing";
  const shown = view === "all" || position.kitty_seen.includes(Number(view));
  at("kitty").replaceChildren();
  if (!hand.kitty) at("kitty").textContent = "none";
  else if (shown) at("kitty").append(...cardElements(cardsOf(hand.kitty)));
  else at("kitty").textContent = `${cardsOf(hand.kitty).length} cards face down`;
}
function showChoices(position) {
  const shown = position.mover !== null && sees(position.mover);
  const values = shown ? position.values : null;
  at("choices-title").textContent = position.mover === null ? "The hand is over"
    : !shown ? `${nameOf(position.mover)} has to choose`
    : `Choices of ${nameOf(position.mover)}${values ? ", and what they were held to be worth" : ""}`;
  const numbers = values ? Object.values(values) : [];
  const low = Math.min(...numbers), span = Math.max(...numbers) - low || 1;
  const order = [...position.legal];
  if (values) order.sort((one, other) => (values[other] ?? -1e9) - (values[one] ?? -1e9));
  at("choices").classList.toggle("unordered", !values);
  at("choices").replaceChildren(...(shown ? order : []).map((card) => {
    const item = element("li");
    item.append(cardElement(card, card === position.action ? "chosen" : ""));
    if (values && values[card] !== undefined) {
      const bar = element("span", undefined, "bar");
      bar.style.width = `${2 + 40 * (values[card] - low) / span}%`;
      item.append(" ", bar, values[card].toFixed(2));
    }
    if (card === position.action) item.append(" chosen");
    return item;
  }));
}
function says(position) {
  if (!place) return `The deal of hand ${numberOf(hand)}. ${nameOf(hand.dealer)} dealt.`;
  const before = hand.positions[place - 1];
  const hidden = before.phase === "pass" && !sees(before.mover);
  const what = { pass: "gives", play: "plays", moon: "settles the moon:" }[before.phase];
  const card = hidden ? "a card" : before.phase === "moon" ? before.action : `the ${cardWords(before.action)}`;
  const moon = position.phase === "moon" ? `${nameOf(position.mover)} has shot the moon.` : "";
  return [`${nameOf(before.mover)} ${what} ${card}.`, position.outcome, moon, isOver() ? "The hand is over." : ""]
    .filter(Boolean).join(" ");
}
function show() {
  const position = hand.positions[place];
  showTable(position); showMiddle(position); showChoices(position);
  at("says").textContent = says(position);
  at("position").max = end();
  at("position").value = place;
  at("number").textContent = `${place} of ${end()}`;
  at("position").setAttribute("aria-valuetext", at("number").textContent);
  // One seat does not see what is to come: tricks, its own later choices, the scores of this hand and of later ones.
  const isOpen = view === "all";
  for (const row of at("tricks").children) {
    row.hidden = !isOpen && Number(row.dataset.to) > place;
    row.classList.toggle("now", Number(row.dataset.from) <= place && place <= Number(row.dataset.to));
  }
  for (const item of at("doubt-list").children)
    item.hidden = !sees(Number(item.dataset.seat)) || !isOpen && Number(item.dataset.place) > place;
  at("doubts").hidden = [...at("doubt-list").children].every((item) => item.hidden);
  for (const row of at("scores").children) {
    const other = data.hands[row.dataset.hand];
    row.hidden = !isOpen && (other.game !== hand.game || other.hand_number >= hand.hand_number + isOver());
  }
  at("sheet").hidden = [...at("scores").children].every((row) => row.hidden);
  // A button that is disabled would lose the focus.
  for (const id of ["first", "previous", "previous-trick"]) at(id).setAttribute("aria-disabled", place === 0);
  for (const id of ["last", "next", "next-trick"]) at(id).setAttribute("aria-disabled", isOver());
}
function go(to) { place = Math.max(0, Math.min(to, end())); show(); }
function goTrick(step) {
  const ends = [0, ...hand.tricks.map((trick) => trick.to), end()];
  go(step > 0 ? ends.find((each) => each > place) ?? place : [...ends].reverse().find((each) => each < place) ?? 0);
}
function playOn(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => { if (isOver()) playOn(false); else go(place + 1); }, 700) : null;
  at("play").setAttribute("aria-pressed", String(on));
  at("says").setAttribute("aria-live", on ? "off" : "polite"); // steps come faster than they can be read out
}
function showHand(number) {
  hand = data.hands[number];
  playOn(false);
  at("tricks").replaceChildren(...hand.tricks.map((trick, index) => {
    const row = element("tr"), first = element("td"), cards = element("td");
    row.dataset.from = trick.from; row.dataset.to = trick.to;
    first.append(element("button", `${index + 1} (P${trick.leader})`));
    cards.append(...asTrick(trick.cards).flatMap((card) => [card, " "]));
    row.append(first, cards, element("td", trick.winner === null ? "set aside" : nameOf(trick.winner)), element("td", trick.points));
    row.addEventListener("click", () => go(trick.to));
    return row;
  }));
  at("doubt-list").replaceChildren(...hand.doubts.map((doubt) => {
    const item = element("li");
    item.dataset.seat = doubt.seat; item.dataset.place = doubt.place;
    item.append(element("button", `${nameOf(doubt.seat)}, decision ${doubt.place}: ${cardWords(doubt.action)} instead of `
      + `${cardWords(doubt.best)}, ${doubt.gap.toFixed(2)} less`));
    item.firstChild.addEventListener("click", () => go(doubt.place));
    return item;
  }));
  showViews();
  showScores();
  go(0);
}
function showViews() {
  const seats = hand.scores.map((_, seat) => new Option(`as ${nameOf(seat)} sees it`, seat));
  if (view !== "all" && Number(view) >= seats.length) view = "all";
  at("view").replaceChildren(new Option("all cards", "all"), ...seats);
  at("view").value = view;
}
function showScores() {
  const head = element("tr");
  head.append(element("th", "Hand"), ...hand.scores.map((_, seat) => element("th", nameOf(seat))));
  for (const cell of head.children) cell.scope = "col";
  at("score-head").replaceChildren(head);
  const alike = data.hands.filter((each) => each.scores.length === hand.scores.length);
  at("scores").replaceChildren(...alike.map((each) => {
    const row = element("tr", undefined, each === hand ? "now" : "");
    row.dataset.hand = data.hands.indexOf(each);
    row.append(element("td", numberOf(each)), ...each.score_changes.map((points, seat) =>
      element("td", `${points} (${each.scores[seat] + points})`)));
    return row;
  }));
}
const numberOf = (each) => data.first + data.hands.indexOf(each);
data.hands.forEach((each, number) => at("hand").append(new Option(numberOf(each), number)));
at("hand").addEventListener("change", (event) => showHand(Number(event.target.value)));
at("view").addEventListener("change", (event) => { view = event.target.value; show(); });
at("position").addEventListener("input", (event) => go(Number(event.target.value)));
const actions = {
  first: () => go(0), previous: () => go(place - 1), next: () => go(place + 1), last: () => go(end()),
  "previous-trick": () => goTrick(-1), "next-trick": () => goTrick(1), play: () => playOn(timer === null),
};
for (const [id, action] of Object.entries(actions)) at(id).addEventListener("click", action);
const keys = { Home: "first", End: "last", ArrowLeft: "previous", ArrowRight: "next", PageUp: "previous-trick",
  PageDown: "next-trick", " ": "play" };
document.addEventListener("keydown", (event) => {
  if (!keys[event.key] || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  // These have a use for the keys themselves.
  if (event.target.matches("select, input, .scroll") || event.key === " " && event.target.matches("button")) return;
  event.preventDefault();
  actions[keys[event.key]]();
});
showHand(0);
