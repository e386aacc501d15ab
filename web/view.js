// The page's elements. render is called often and touches only what has changed.

import { parts, short } from "./clock.js";
import { mark } from "./order.js";
import { language, moment, otherLanguage, price, span, text, texts, zone } from "./text.js";

const $ = (id) => document.getElementById(id);

const icons = {
  early: "clock", opening: "work", open: "bolt", paused: "pause", closed: "stop",
  stock: "check", stockNone: "stop", stockSoon: "clock", stockOver: "stop",
  processing: "work", payable: "clock", confirming: "work", overdue: "clock",
  paid: "check", expired: "stop", cancelled: "stop", rejected: "alert",
};
const steps = { processing: 0, payable: 1, confirming: 1, overdue: 1, paid: 2 }; // of an order under way
const marks = [600, 300, 60, 30, 10];

function write(node, value) {
  if (node.textContent !== value) node.textContent = value;
}

function set(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

function fill(node, words) {
  node.hidden = !words;
  write(node, words ?? "");
}

// sign shows a state by its icon and its words.
function sign(node, state, words = text(state)) {
  set(node, "data-state", state);
  set(node.firstElementChild.firstElementChild, "href", `#${icons[state] ?? "alert"}`);
  write(node.lastElementChild, words);
}

const told = {}; // by topic
// tell lets a screen reader say what is new on a topic, never the clock.
function tell(topic, news, words) {
  const first = !(topic in told);
  if (news === told[topic]) return;
  told[topic] = news;
  if (!first && words) write($("say"), words);
}

// bind connects the page's buttons.
export function bind(on) {
  for (const id of ["language", "sign", "pay"]) $(id).addEventListener("click", on[id]);
  $("cancel").addEventListener("click", () => $("ask").showModal());
  $("ask").addEventListener("close", () => {
    if ($("ask").returnValue === "yes") on.cancel();
    $("ask").returnValue = "";
  });
  $("items").addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    // A button that cannot be pressed yet keeps the keyboard's focus, so it is not disabled.
    if (button?.ariaDisabled === "false") on.buy(Number(button.closest("li").dataset.id));
  });
}

// focusOrder leads to the order after the shopper's own press, never by itself.
export const focusOrder = () => $("order-title").focus();

export function render(s) {
  const { session, sale, link, trouble } = s;
  set(document.documentElement, "lang", language());
  set($("language"), "lang", otherLanguage());
  for (const node of document.querySelectorAll("[data-text]")) write(node, text(node.dataset.text));
  write($("who"), session?.name ?? "");
  $("sign").hidden = !session || (session.user && !session.canSignOut);
  write($("sign"), text(session?.user ? "signOut" : "signIn"));
  $("link").hidden = !link;
  if (link) sign($("link"), link);
  tell("link", link, link && text(link));
  if (!sale) return void sign($("state"), trouble ? "" : "opening", trouble in texts ? text(trouble) : trouble ?? text("loading"));
  renderSale(s);
  renderOrder(s);
  s.offers.forEach((offer, i) => renderCard(cardOf(sale.items[i], i, s.pictures), sale.items[i], offer, s));
  set($("items"), "data-count", String(sale.items.length));
  write($("zone"), text("zone", { zone: zone() }));
}

function renderSale({ sale, phase, now, turn, needsPass, held }) {
  const [opens, closes] = [Date.parse(sale.opensAt), Date.parse(sale.closesAt)];
  const over = phase === "closed";
  const [end, what] = needsPass && turn > now && !over ? [turn, "turn"] : now < opens ? [opens, "opens"] : [closes, "closes"];
  sign($("state"), phase);
  write($("name"), sale.name);
  document.title = `${text(phase)} · ${sale.name}`;
  fill($("when"), !over ? text(`${what}At`, { when: moment(end, what === "turn" ? "2-digit" : undefined) })
    : closes <= now ? text("closedAt", { when: moment(closes) }) : "");
  fill($("why"), what === "turn" ? text("turnWhy") : phase === "paused" ? text("pausedWhy") : "");
  // With an order only the time to pay counts.
  $("countdown").hidden = held || ["closed", "paused", "opening"].includes(phase);
  write($("counts"), text(`${what}In`));
  renderDigits(end - now);
  tell("phase", phase, text(phase));
  const soon = what === "closes" ? undefined : mark(end, now, marks);
  tell("soon", soon, soon && `${text(`${what}In`)}: ${span(soon)}`);
}

function renderDigits(left) {
  const { days, ...rest } = parts(left);
  const units = Object.entries(days ? { days, ...rest } : rest);
  const digits = $("countdown").lastElementChild;
  if (digits.childElementCount !== units.length) {
    digits.replaceChildren(...units.map(() => $("digit").content.cloneNode(true)));
  }
  units.forEach(([unit, value], i) => {
    const [number, name] = digits.children[i].children;
    write(number, String(value).padStart(2, "0"));
    write(name, text(unit));
  });
}

function renderOrder({ order, orderPhase: phase, sale, now, payLink, cancelling, trouble }) {
  $("order").hidden = !order;
  tell("order", phase, phase && `${text(phase)}. ${text(`${phase}Text`)}`);
  if (!order) return;
  set($("order"), "data-phase", phase);
  sign($("seal"), phase);
  fill($("order-text"), text(trouble ?? `${phase}Text`));
  tell("trouble", trouble, trouble && text(trouble));
  const item = sale.items.find(({ itemId }) => itemId === order.itemId);
  fill($("order-item"), item && `${item.name}, ${price(item.price, item.currency)}`);
  write($("order-id"), text("orderNumber", { id: order.orderId }));
  const step = steps[phase];
  $("steps").hidden = step === undefined;
  [...$("steps").children].forEach((li, i) => {
    set(li, "data-at", i < step || phase === "paid" ? "done" : i === step ? "now" : "next");
    set(li, "aria-current", i === step ? "step" : "false");
  });
  const open = phase === "payable" || phase === "confirming";
  for (const id of ["order-left", "pay", "cancel"]) $(id).hidden = !open || (id === "pay" && !payLink);
  if (!open) return;
  const end = Date.parse(order.payBy);
  write($("order-left").lastElementChild, short(end - now));
  set($("pay"), "href", payLink ?? "");
  write($("pay"), text(phase === "confirming" ? "payAgain" : "pay"));
  set($("pay"), "class", phase === "confirming" ? "quiet" : "primary");
  set($("cancel"), "aria-disabled", String(cancelling));
  const soon = mark(end, now, marks);
  tell("left", soon, soon && `${text("payLeft")}: ${span(soon)}`);
}

function cardOf(item, i, pictures) {
  const old = $("items").children[i];
  if (old?.dataset.id === String(item.itemId)) return old;
  const card = $("item").content.firstElementChild.cloneNode(true);
  card.dataset.id = item.itemId;
  card.querySelector("h3").id = `item-${item.itemId}`;
  card.querySelector("button").setAttribute("aria-describedby", `item-${item.itemId}`);
  card.querySelector("img").src = pictures[item.itemId] ?? "art/parcel.svg";
  if (old) old.replaceWith(card);
  else $("items").append(card);
  return card;
}

function renderCard(card, item, kind, { phase, notes, buying }) {
  const [name, cost, stock, line, button] = card.lastElementChild.children;
  write(name, item.name);
  write(cost, price(item.price, item.currency));
  const state = phase === "closed" ? "stockOver" : item.soldOut ? "stockNone"
    : phase === "early" || phase === "opening" ? "stockSoon" : "stock";
  sign(stock, state);
  if (phase === "open") tell(`stock ${item.itemId}`, state, `${item.name}: ${text(state)}`);
  write(button, text(`b_${kind}`));
  set(button, "aria-disabled", String(kind !== "signIn" && (kind !== "buy" || Boolean(buying))));
  set(button, "data-kind", kind);
  const note = notes[item.itemId];
  const words = note && text(note in texts ? note : "INTERNAL");
  fill(line, kind === "soldOut" ? text("hope") : words);
  tell(`note ${item.itemId}`, note, words);
}
