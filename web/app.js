// The sale's page: countdown, purchase, and what became of the order. It shows what
// the server says: an order counts as placed only once it is payable.

const $ = (id) => document.getElementById(id);
const pollEvery = 1000;

let config;
let sale; // the last answer about the sale
let clockOffset = 0; // server time minus ours
let session; // {user, token}
let order; // the last answer about the own order
let buying = false;

const refusals = {
  SOLD_OUT: "Sold out. Units that are not paid for come back; try again in a while.",
  SALE_CLOSED: "The sale is over.",
  SALE_NOT_OPEN: "The sale is not open yet.",
  TOO_MANY_REQUESTS: "Too many tries. Please wait a moment.",
  UNAUTHENTICATED: "Please log in again.",
};

const orderTexts = {
  PAID: ["Paid", "Thank you. The item is yours."],
  EXPIRED: ["Expired", "The time to pay is over. You can buy again."],
  CANCELLED: ["Cancelled", "The order was cancelled. You can buy again."],
  REJECTED: ["Not placed", "The order could not be placed. You can try again."],
};

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const serverNow = () => Date.now() + clockOffset;
const say = (text) => { $("message").textContent = text; };

// call returns the status, the body, and how long to wait before asking again. A
// network error is a status of 0: nothing is known then. Only calls for a shopper
// carry the token: the others can be cached.
async function call(path, { shopper, ...options } = {}) {
  const headers = { ...options.headers };
  if (shopper) headers.Authorization = `Bearer ${shopper.token}`;
  try {
    const response = await fetch(path, { ...options, headers, signal: AbortSignal.timeout(10_000) });
    const retryAfter = Number(response.headers.get("Retry-After")) * 1000;
    return { status: response.status, body: await response.json(), retryAfter };
  } catch {
    return { status: 0, body: {}, retryAfter: 0 };
  }
}

async function watchSale() {
  for (;;) {
    const before = Date.now();
    const { status, body } = await call(`${config.api}/${config.saleId}`);
    if (status === 200) {
      sale = body;
      // Half the round trip is the best guess of the answer's age.
      clockOffset = Date.parse(body.serverTime) - (before + Date.now()) / 2;
      $("name").textContent = body.name;
      document.title = body.name;
      showItems();
    } else if (!sale) {
      $("clock").textContent = status === 404 ? "There is no such sale." : "Waiting for the server";
    }
    await wait(pollEvery + Math.random() * 200);
  }
}

function duration(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

function showClock() {
  if (sale) {
    const opens = Date.parse(sale.opensAt) - serverNow();
    const closes = Date.parse(sale.closesAt) - serverNow();
    let text = `Open for ${duration(closes)}`;
    if (sale.state === "PAUSED") text = "Paused for a moment";
    else if (closes <= 0 || sale.state === "CLOSED") text = "The sale is over";
    else if (opens > 0) text = `Opens in ${duration(opens)}`;
    else if (sale.state !== "OPEN") text = "Opening";
    $("clock").textContent = text;
  }
  if (order?.payable) showOrder(); // its own countdown
}

const isActive = () => Boolean(order) && (order.status === "PENDING" || order.status === "PAID");

function showItems() {
  const list = $("items");
  for (const item of sale.items) {
    let row = list.querySelector(`[data-id="${item.itemId}"]`);
    if (!row) {
      row = $("item").content.firstElementChild.cloneNode(true);
      row.dataset.id = item.itemId;
      row.querySelector("button").addEventListener("click", () => buy(row.dataset.id));
      list.append(row);
    }
    row.querySelector(".item-name").textContent = item.name;
    row.querySelector(".item-price").textContent = `${item.price} ${item.currency}`;
    const button = row.querySelector("button");
    button.textContent = item.soldOut ? "Sold out" : "Buy";
    button.disabled = !item.purchaseUrl || item.soldOut || !session || buying || isActive();
  }
}

// The same key for every try of one shopper and item: a try whose answer was lost is
// answered again instead of refused.
function idempotencyKey(itemId) {
  const name = `key ${session.user} ${itemId} ${order?.orderId ?? ""}`;
  let key = sessionStorage.getItem(name);
  if (!key) {
    key = crypto.randomUUID();
    sessionStorage.setItem(name, key);
  }
  return key;
}

async function buy(itemId) {
  const url = sale.items.find((item) => String(item.itemId) === itemId)?.purchaseUrl;
  if (!url || buying) return;
  buying = true;
  showItems();
  const shopper = session;
  const key = idempotencyKey(itemId);
  say("Asking");
  for (let tries = 0; ; tries++) {
    const { status, body, retryAfter } = await call(url, { shopper, method: "POST", headers: { "Idempotency-Key": key } });
    if (shopper !== session) break;
    if (status === 202 || body.error === "ALREADY_PURCHASED") {
      say(status === 202 ? "" : "You already have an order in this sale.");
      followOrder(body.orderId);
      break;
    }
    if (tries < 20 && (status === 0 || status === 503)) {
      say("Very busy. Trying again for you.");
      await wait((retryAfter || 1000) + Math.random() * 500);
      continue;
    }
    say(refusals[body.error] ?? body.message ?? "Something went wrong. Please try again.");
    break;
  }
  buying = false;
  showItems();
}

function showOrder() {
  $("order").hidden = !order;
  if (!order) return;
  let texts = orderTexts[order.status];
  if (order.payable) {
    texts = ["Reserved for you", `Pay within ${duration(Date.parse(order.payBy) - serverNow())}.`];
  } else if (order.status === "PENDING") {
    texts = order.payBy ? ["Time is over", "The time to pay is over."] : ["Being processed", "Your order is being written. Please wait."];
  }
  $("order-title").textContent = texts[0];
  $("order-text").textContent = texts[1];
  $("order-id").textContent = order.orderId;
}

// followOrder shows an order until it can change no more. A new one, or another
// shopper, ends it.
async function followOrder(orderId) {
  const shopper = session;
  order = { orderId, status: "PENDING", payable: false };
  while (shopper === session && order?.orderId === orderId && order.status === "PENDING") {
    showOrder();
    const { status, body } = await call(`${config.api}/orders/${orderId}`, { shopper });
    if (shopper !== session || order?.orderId !== orderId) return;
    if (status === 200) order = body;
    showOrder();
    showItems();
    await wait(pollEvery);
  }
}

async function login(event) {
  event.preventDefault();
  const user = $("user").value;
  const { status, body } = await call(config.login, { method: "POST", body: JSON.stringify({ user }) });
  if (status !== 200) {
    say(body.message ?? "The login failed.");
    return;
  }
  const shopper = { user, token: body.token };
  session = shopper;
  order = undefined;
  $("who").textContent = `Logged in as ${user}`;
  say("");
  showOrder();
  // A reload or a lost answer must not lose the order.
  const mine = await call(`${config.api}/${config.saleId}/my-order`, { shopper });
  if (mine.status === 200 && shopper === session && !order) followOrder(mine.body.orderId);
  if (sale) showItems();
}

config = await (await fetch("config.json")).json();
$("user").value = `u${Math.floor(Math.random() * 1e6)}`;
$("login").addEventListener("submit", login);
setInterval(showClock, 250);
watchSale();
