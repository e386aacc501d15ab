// Shows what report says. Each figure has its path in the report, so that one can be compared
// with the other.

import { bar, History, stack } from "./chart.js";

export const seconds = 300; // what the pictures go back
const states = ["PENDING", "PAID", "EXPIRED", "CANCELLED", "REJECTED"];
const $ = (id) => document.getElementById(id);
const grouped = new Intl.NumberFormat("en");

function make(name, text, attributes = {}) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// figure is a number of the report under its path.
const figure = (name, value, path, attributes = {}) => make(name, grouped.format(value), { "data-figure": path, ...attributes });

function pair(label, value, path, alarm) {
  const group = make("div");
  group.append(make("dt", label, { class: "soft" }), figure("dd", value, path, { class: "number" }));
  if (alarm && value > 0) group.dataset.alarm = "";
  return group;
}

function legend(list, values, path) {
  list.replaceChildren(...Object.entries(values).map(([name, value]) => {
    const entry = make("li", `${name} `, { class: `of-${name}` });
    entry.append(figure("b", value, `${path}.${name}`));
    return entry;
  }));
}

const sumOf = (list, field) => list.reduce((sum, each) => sum + field(each), 0);
const held = ({ reserved, claimed, confirmed }) => reserved + claimed + confirmed;

export class View {
  #items = new Map(); // by id: the card, and its orders over time

  // sale is what explain says of it; names are the public view's, by item id.
  show(at, report, sale, names) {
    $("state").textContent = report.state;
    $("state").dataset.state = report.state;
    const moment = (text) => new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
    $("window").textContent = `sale ${report.saleId}, ${moment(sale.opensAt)} to ${moment(sale.closesAt)}`;
    this.#stops(sale);
    this.#verdict(report);
    $("tiles").replaceChildren(
      pair("writer lag, all sales", report.writerLag, "writerLag"),
      pair("unconfirmed holds", report.unconfirmed, "unconfirmed"),
      pair("units on their way back", report.releasesWaiting, "releasesWaiting"),
      pair("dead letters, all sales", report.deadLetters, "deadLetters", true),
      pair("refunds due", sumOf(report.items, (item) => item.refundsDue), "sum.refundsDue", true),
      pair("refunds due, order unknown", report.refundsDueUnknown, "refundsDueUnknown", true),
    );
    report.items.forEach((item, i) => this.#item(at, item, `items.${i}`, names[item.itemId]));
  }

  #stops({ paused, doubts }) {
    const said = [];
    if (paused?.length) said.push(`Paused: ${paused.join(", ")}. Shoppers hear 503 and their pages try again.`);
    if (doubts?.length) said.push(`In doubt, not on sale until the next pass: item ${doubts.join(", ")}.`);
    $("stops").hidden = said.length === 0;
    $("stops").textContent = said.join(" ");
  }

  #verdict({ items, changing }) {
    const loaded = items.some((item) => item.shards.length > 0);
    const yes = items.every((item) => item.conserved);
    const verdict = $("verdict");
    if (loaded) verdict.dataset.conserved = yes ? "yes" : "no";
    else delete verdict.dataset.conserved;
    const broken = items.filter((item) => !item.conserved).map((item) => item.itemId);
    $("verdict-title").textContent = !loaded ? "Not loaded: nothing to count"
      : yes ? "Conserved: every unit is accounted for" : `Not conserved: item ${broken.join(", ")}`;
    const sum = $("verdict-sum");
    sum.replaceChildren(
      figure("b", sumOf(items, (item) => item.stock), "sum.stock"), " in stock + ",
      figure("b", sumOf(items, (item) => held(item.holds)), "sum.holds"), " held, of ",
      figure("b", sumOf(items, (item) => item.quantity), "sum.quantity"), "; drift ",
      figure("b", sumOf(items, (item) => item.drift), "sum.drift"),
      changing ? "; rows changed while they were counted" : "",
    );
  }

  #item(at, item, path, name) {
    let known = this.#items.get(item.itemId);
    if (!known) {
      known = { card: $("item").content.firstElementChild.cloneNode(true), orders: new History(seconds) };
      this.#items.set(item.itemId, known);
      $("items").append(known.card);
      known.card.querySelector("details").open = item.shards.length <= 8;
    }
    const part = (selector) => known.card.querySelector(selector);
    known.card.toggleAttribute("data-broken", !item.conserved);
    part("h3").textContent = name ?? `Item ${item.itemId}`;
    part(".ids").textContent = `item ${item.itemId}, ${item.conserved ? "conserved" : "not conserved"}`;
    part(".units").replaceChildren(
      pair("for sale", item.quantity, `${path}.quantity`), pair("sold", item.sold, `${path}.sold`),
      pair("in stock", item.stock, `${path}.stock`), pair("refunds due", item.refundsDue, `${path}.refundsDue`, true),
      pair("drift", item.drift, `${path}.drift`),
    );
    const holds = { confirmed: item.holds.confirmed, claimed: item.holds.claimed, reserved: item.holds.reserved };
    const units = { ...holds, stock: item.stock };
    bar(part(".bar"), units, Math.max(item.quantity, held(holds) + Math.max(0, item.stock)),
      `Units: ${Object.entries(units).map(([key, n]) => `${n} ${key}`).join(", ")}`);
    legend(part(".bar-legend"), holds, `${path}.holds`);
    legend(part(".stock-legend"), { stock: item.stock }, path);
    const orders = Object.fromEntries(states.map((state) => [state, item.orders[state]]));
    stack(part(".orders"), known.orders.add(at, orders), states,
      `Orders of the last minutes, now ${states.map((state) => `${orders[state]} ${state}`).join(", ")}`);
    legend(part(".orders-legend"), orders, `${path}.orders`);
    part("tbody").replaceChildren(...item.shards.map((shard, i) => {
      const row = make("tr");
      const sound = shard.stock + shard.holds === shard.quota;
      row.append(
        figure("td", shard.shard, `${path}.shards.${i}.shard`), figure("td", shard.stock, `${path}.shards.${i}.stock`),
        figure("td", shard.holds, `${path}.shards.${i}.holds`), figure("td", shard.quota, `${path}.shards.${i}.quota`),
        make("td", sound ? "as it should be" : `${shard.stock + shard.holds - shard.quota} too many`, { "data-sum": sound ? "yes" : "no" }),
      );
      return row;
    }));
  }
}

// showAnswers shows what purchase said per second, and in all.
export function showAnswers(points, rate, totals) {
  const codes = Object.keys(totals).sort((a, b) => (b === "ACCEPTED") - (a === "ACCEPTED") || totals[b] - totals[a]);
  const top = stack($("answers"), points, codes,
    `Answers per second, now ${codes.map((code) => `${Math.round(rate[code])} ${code}`).join(", ") || "none"}`);
  $("answers-top").textContent = top > 0 ? `${grouped.format(Math.round(top))}/s at most` : "nobody has asked yet";
  $("answers-legend").replaceChildren(...codes.map((code) => {
    const entry = make("li", `${code} `, { class: `of-${code}` });
    entry.append(make("b", grouped.format(Math.round(rate[code])), { "data-rate": code }), "/s, ",
      make("span", grouped.format(totals[code]), { "data-total": code }), " in all");
    return entry;
  }));
}

// showStory shows what explain says of a shopper.
export function showStory({ userId, hold, orders, story, sale }) {
  const parts = [];
  if (hold) {
    const how = hold.unconfirmed ? "no writer has confirmed it yet" : "confirmed";
    parts.push(make("p", `${userId} holds a unit of item ${hold.itemId} as order ${hold.orderId}: ${how}.`));
  } else {
    parts.push(make("p", `${userId} holds nothing.`));
  }
  for (const { orderId, itemId, status, reason } of orders) {
    parts.push(make("p", `Order ${orderId} of item ${itemId}: ${status}${reason ? ` (${reason})` : ""}.`));
  }
  if (!hold && orders.length === 0) {
    const left = sale.left ? Object.entries(sale.left).map(([id, n]) => `${n} of item ${id}`).join(", ") : "not known";
    parts.push(make("p", `A refusal leaves no trace. Now the sale is ${sale.state}; left: ${left}.`));
  }
  const list = make("ol");
  for (const { at, what } of story) {
    const entry = make("li");
    entry.append(make("time", `${new Date(at).toLocaleTimeString("en-GB")} `, { datetime: at, class: "soft" }), what);
    list.append(entry);
  }
  if (story.length) parts.push(list);
  $("story").replaceChildren(...parts);
}
