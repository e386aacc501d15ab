// One purchase: one press, one Idempotency-Key, as many tries as it takes.

import { backoff, call, passes, wait } from "./api.js";

const tries = 12;

const sales = (saleId, user) => `flashsale key ${saleId} ${JSON.stringify(user)} `;

// keyOf is the same for this shopper and item in every tab, also after a reload, until it is
// forgotten: so a lost answer is given again.
function keyOf(name) {
  const key = localStorage.getItem(name) ?? crypto.randomUUID();
  localStorage.setItem(name, key);
  return key;
}

// forget drops a shopper's keys in a sale, once the order has ended.
export function forget(saleId, user) {
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith(sales(saleId, user))) localStorage.removeItem(name);
  }
}

// purchase answers {orderId, before}, before if there was an order already; or {code, lost}, lost
// if a try may still win; or nothing if the shopper has changed. tell hears why it waits.
export async function purchase({ api, saleId, itemId, session, pass, tell }) {
  const { user } = session;
  const name = sales(saleId, user) + itemId;
  const key = keyOf(name);
  for (let n = 0, renewed = false, lost = false; n < tries; n++) {
    const headers = { "Idempotency-Key": key };
    if (pass()) headers["X-Admission-Pass"] = pass();
    const token = await session.token();
    if (session.user !== user) break;
    const answer = await call(`${api}/items/${itemId}/purchase`, { method: "POST", token, headers });
    if (session.user !== user) break;
    const before = answer.code === "ALREADY_PURCHASED";
    if (answer.status === 202 || before) return { orderId: answer.body.orderId, before };
    if (answer.status === 401 && !renewed && await session.token(true)) {
      renewed = true;
      continue;
    }
    // This page's opening may be a moment ahead of that server's, which says how long.
    const early = answer.code === "SALE_NOT_OPEN" && answer.retryAfter <= 2000;
    if (passes(answer) || early || (answer.status === 500 && n === 0)) {
      lost ||= [0, 504].includes(answer.status);
      tell(answer.status ? "busy" : "silent");
      await wait(backoff(Math.min(n, 3), answer.retryAfter));
      continue;
    }
    // The API looks for an own order before it says one of these.
    if (!lost && [400, 404, 410].includes(answer.status)) localStorage.removeItem(name);
    return { code: answer.code ?? "INTERNAL", notBefore: answer.body.notBefore, lost };
  }
  return session.user === user ? { code: "GAVE_UP", lost: true } : {};
}
