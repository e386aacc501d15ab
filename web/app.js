// The sale's page: it asks the server what is, and shows it. docs/page.md tells how a shop
// sets it up.

import { Admission } from "./admission.js";
import { backoff, Bell, call, passes, wait } from "./api.js";
import { Clock } from "./clock.js";
import { isActive, isFinal, offer, orderPhase, salePhase, untilPoll } from "./order.js";
import { forget, purchase } from "./purchase.js";
import { Session } from "./session.js";
import { switchLanguage } from "./text.js";
import { bind, focusOrder, render } from "./view.js";

const clock = new Clock();
const saleBell = new Bell();
const orderBell = new Bell();
const tabs = new BroadcastChannel("flashsale order");
const paying = "flashsale paying"; // the order whose payment was begun in this tab

let config;
let session;
let admission;
let sale; // the last answer about the sale
let lots = false; // a purchase was refused for want of a pass
let order; // the last answer about the own order
let buying; // the item that is being asked for
let cancelling = false;
let trouble; // with the order or the page
let link; // with the connection
let notes = {}; // by item, what the last press came to

// saleId is the address's own, which anybody can write.
const saleId = () => encodeURIComponent(new URLSearchParams(location.search).get("sale") ?? config.saleId);
const held = () => Boolean(order) && isActive(order);
const turn = () => admission.turn(sale, session.user);

function draw() {
  const s = { session, sale, trouble, link: link ?? (session.failed ? "signInFailed" : undefined) };
  if (sale) {
    const now = clock.now();
    const needsPass = lots || Boolean(sale.admission);
    Object.assign(s, { now, needsPass, order, buying, notes, cancelling, held: held() });
    s.turn = turn();
    s.phase = salePhase(sale, now, s.turn);
    s.offers = sale.items.map((item) => offer({ ...s, item, signedIn: session.user }));
    s.pictures = config.pictures ?? {};
    if (order) {
      s.orderPhase = orderPhase(order, now, sessionStorage.getItem(paying) === order.orderId);
      s.payLink = config.payment?.replaceAll("{orderId}", order.orderId);
    }
    if (needsPass && !s.held && s.phase !== "closed") admission.need(sale, session);
  }
  render(s);
}

// heard keeps what an answer, or none, says about the connection.
function heard(answer) {
  link = passes(answer) ? answer.status ? "crowded" : navigator.onLine ? "unreachable" : "offline" : undefined;
}

async function watchSale() {
  for (let failed = 0; ;) {
    const answer = await call(`${config.api}/${saleId()}`);
    heard(answer);
    if (answer.status === 200) {
      if (!sale) trouble = undefined;
      sale = answer.body;
      clock.learn(Date.parse(sale.serverTime));
      failed = 0;
    } else if (!passes(answer) && !sale) {
      trouble = answer.code === "UNKNOWN_SALE" ? answer.code : "INTERNAL";
    }
    draw();
    await saleBell.wait(answer.status === 200 ? untilPoll(sale, clock.now(), held(), turn()) : backoff(failed++, answer.retryAfter));
  }
}

// findOrder asks for the shopper's order: after a reload, in a second tab, after a lost answer.
async function findOrder() {
  const { user } = session;
  for (let n = 0; user && session.user === user; n++) {
    const answer = await call(`${config.api}/${saleId()}/my-order`, { token: await session.token() });
    if (session.user !== user) return;
    if (answer.status === 200) return void follow(answer.body);
    if (answer.status === 401) return void session.token(true);
    if (!passes(answer)) return;
    heard(answer);
    await orderBell.wait(backoff(n, answer.retryAfter));
  }
}

// follow shows an order until it can change no more. Another order or shopper ends it.
async function follow(found) {
  const { user } = session;
  const mine = () => session.user === user && order?.orderId === found.orderId;
  const followed = mine() && !isFinal(order);
  order = { ...(mine() && order), ...found };
  trouble = undefined;
  orderBell.ring();
  if (followed) return;
  for (let failed = 0; !isFinal(order);) {
    draw();
    await orderBell.wait(failed ? backoff(failed - 1, 0) : order.payable ? 2000 : 1000);
    if (!mine()) return;
    const answer = await call(`${config.api}/orders/${found.orderId}`, { token: await session.token() });
    if (!mine()) return;
    heard(answer);
    failed = answer.status === 200 ? 0 : failed + 1;
    if (isFinal(order)) break; // cancelled meanwhile
    if (answer.status === 200) order = answer.body;
    else if (answer.status === 401 && !await session.token(true)) return;
    else if (answer.status === 404) {
      order = undefined;
      return void findOrder();
    }
    if (answer.retryAfter) await wait(answer.retryAfter);
  }
  forget(saleId(), user);
  sessionStorage.removeItem(paying);
  saleBell.ring();
  draw();
}

async function buy(itemId) {
  if (!session.user) return void session.signIn();
  buying = itemId;
  notes = {};
  draw();
  const result = await purchase({
    api: config.api, saleId: saleId(), itemId, session,
    pass: () => admission.pass(sale, session.user),
    tell: (why) => { notes = { [itemId]: why }; draw(); },
  });
  buying = undefined;
  notes = {};
  if (result.orderId) {
    if (result.before) notes[itemId] = "already";
    else result.itemId = itemId;
    follow({ status: "PENDING", payable: false, ...result });
    tabs.postMessage(saleId());
    focusOrder();
    return;
  }
  if (result.code === "ADMISSION_REQUIRED") {
    lots = true;
    admission.refused(result.notBefore);
  }
  // The edge asks for the pass before anybody looks for an own order.
  if (result.lost || result.code === "ADMISSION_REQUIRED") findOrder();
  if (result.code && result.code !== "SALE_CLOSED") notes[itemId] = result.code; // the sale says that one
  // A whole crowd hears that it is sold out; if each asked for the sale then, it would be another.
  if (result.code === "SOLD_OUT") for (const item of sale.items) item.soldOut ||= item.itemId === itemId;
  else saleBell.ring();
  draw();
}

async function cancel() {
  const { orderId } = order;
  cancelling = true;
  for (let n = 0; n < 4 && cancelling; n++) {
    draw();
    const answer = await call(`${config.api}/orders/${orderId}`, { method: "DELETE", token: await session.token() });
    if (order?.orderId !== orderId) break;
    trouble = answer.status === 200 || answer.status === 409 ? undefined : "notCancelled";
    if (answer.status === 200) order = answer.body;
    if (passes(answer)) await wait(backoff(n, answer.retryAfter));
    else cancelling = false;
  }
  cancelling = false;
  tabs.postMessage(saleId());
  orderBell.ring(); // who follows the order sees its end
  draw();
}

// Another shopper has other orders.
function changed() {
  order = undefined;
  notes = {};
  lots = false;
  findOrder();
  draw();
}

async function start() {
  config = await (await fetch("config.json", { cache: "no-cache" })).json();
  session = new Session(config.identity ?? {}, changed);
  admission = new Admission(config.api, clock);
  bind({
    buy, cancel,
    language: () => { switchLanguage(); draw(); },
    sign: () => (session.user ? session.signOut() : session.signIn()),
    pay: () => sessionStorage.setItem(paying, order.orderId),
  });
  await session.open();
  tabs.onmessage = ({ data }) => { if (data === saleId()) findOrder(); };
  const wake = () => { saleBell.ring(); orderBell.ring(); };
  addEventListener("online", wake);
  addEventListener("pageshow", wake);
  addEventListener("offline", () => { link = "offline"; draw(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) wake(); });
  setInterval(draw, 200);
  watchSale();
}

start().catch((error) => render({ trouble: String(error) }));
