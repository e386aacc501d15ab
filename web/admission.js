// The shopper's admission pass, where a sale draws lots for the start.

import { backoff, call, passes, wait } from "./api.js";

// Passes are fetched from ten minutes to one before the opening; who comes later waits seconds.
const early = 600_000;
const late = 60_000;
const soon = 3000;

export class Admission {
  #lot = Math.random();
  #asking = false;
  #held = {};

  constructor(api, clock) {
    this.api = api;
    this.clock = clock;
  }

  // turn is when the pass begins, 0 without one.
  turn(sale, user) { return this.#fits(sale, user) ? this.#held.turn : 0; }

  pass(sale, user) { return this.#fits(sale, user) ? this.#held.pass : undefined; }

  // A pass is for one opening: if that moves, another one is drawn.
  #fits({ saleId, opensAt }, user) {
    const held = this.#held;
    return held.saleId === saleId && held.user === user && held.opensAt === opensAt;
  }

  // refused takes what purchase said about the pass: a later start, or that it is not good.
  refused(notBefore) {
    const turn = Date.parse(notBefore);
    this.#held = turn > this.clock.now() ? { ...this.#held, turn } : {};
  }

  // need sees to it that a pass comes in time. Calling it often is harmless.
  async need(sale, session) {
    const { user } = session;
    const left = Date.parse(sale.opensAt) - this.clock.now();
    if (this.#asking || !user || this.#fits(sale, user) || left > early) return;
    this.#asking = true;
    await wait(this.#lot * (left > late ? left - late : soon));
    for (let n = 0; session.user === user; n++) {
      const answer = await call(`${this.api}/${sale.saleId}/admission`, { method: "POST", token: await session.token() });
      const { pass, notBefore } = answer.body;
      if (answer.status === 200) this.#held = { saleId: sale.saleId, user, opensAt: sale.opensAt, pass, turn: Date.parse(notBefore) };
      if (answer.status === 401) await session.token(true);
      else if (!passes(answer)) break;
      await wait(backoff(n, answer.retryAfter));
    }
    this.#asking = false;
  }
}
