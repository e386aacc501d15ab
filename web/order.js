// What the shopper is shown, decided from what the server said. Pure: no page, no network.

// salePhase is early, opening, open, paused or closed. The clock opens and closes the sale on
// time, the server's word is needed to sell; who waits for an own turn need not ask for it.
export function salePhase(sale, now, turn) {
  if (sale.state === "CLOSED" || now >= Date.parse(sale.closesAt)) return "closed";
  if (sale.state === "PAUSED") return "paused";
  if (now < Date.parse(sale.opensAt)) return "early";
  return sale.state === "OPEN" || turn > now ? "open" : "opening";
}

// orderPhase is the state of an order. It is nobody's before it is written: until the server
// says payable it is only being processed.
export function orderPhase(order, now, paying) {
  if (order.status !== "PENDING") return order.status.toLowerCase();
  if (!order.payBy) return "processing";
  if (!order.payable || now >= Date.parse(order.payBy)) return "overdue";
  return paying ? "confirming" : "payable";
}

export const isFinal = (order) => order.status !== "PENDING";

// isActive tells whether the order keeps its shopper from buying another one.
export const isActive = (order) => order.status === "PENDING" || order.status === "PAID";

// offer is what an item's button offers. turn is when the shopper's own pass begins, 0 while
// that is not known.
export function offer({ phase, item, signedIn, order, buying, needsPass, turn, now }) {
  if (order && isActive(order)) return order.itemId === item.itemId ? "yours" : "other";
  if (phase === "closed") return "closed";
  if (buying === item.itemId) return "asking";
  if (!signedIn) return "signIn";
  if (phase !== "open") return phase;
  if (item.soldOut) return "soldOut";
  if (needsPass && (!turn || now < turn)) return "turn";
  return item.purchaseUrl ? "buy" : "opening";
}

// untilPoll is the wait before the sale is asked for again: seldom while a crowd waits, then once,
// spread over a second, or at the own turn. A copy from before the opening may be a second old.
export function untilPoll(sale, now, busy, turn, random = Math.random()) {
  const phase = salePhase(sale, now);
  if (phase === "closed") return 30_000;
  const left = Math.max(Date.parse(sale.opensAt), turn) - now;
  if (left > (turn ? 60_000 : 12_000)) return Math.min(left / 3, 60_000) * (0.8 + random * 0.2);
  if (left > 0) return turn ? left : left + random * 1000;
  if (phase === "opening") return Math.max(0, Date.parse(sale.serverTime) + 1000 - now) + random * 400;
  return (busy ? 5000 : 1500) + random * 1000;
}

// mark is the last of the given seconds before `end` that has passed: what is left is told then.
export function mark(end, now, seconds) {
  const left = (end - now) / 1000;
  if (left <= 0) return undefined;
  return seconds.filter((s) => left <= s).at(-1);
}
