package browser_test

import (
	"testing"
	"time"
)

// TestModules asks the page's own modules, in the browser that runs them. Each expression is
// true, with the modules' names at hand.
func TestModules(t *testing.T) {
	t.Parallel()
	sale := market.offer(t, newSale(time.Hour, 1))
	p := newShopper(t, market, sale).visit()
	for _, test := range []struct{ name, expression string }{
		{"what is left, with a begun second", `short(599_001) === "10:00" && short(0) === "0:00" && short(-5) === "0:00" && short(4_200_000) === "1:10:00" && short(90_000_000) === "25:00:00"`},
		{"days", `JSON.stringify(parts(90_061_000)) === '{"days":1,"hours":1,"minutes":1,"seconds":1}'`},
		{"the clock believes the latest answer", `(() => { const c = new Clock(), p = performance.now();
			c.learn(1000, p); c.learn(5000, p); c.learn(2000, p); const n = c.now(); return n >= 5000 && n < 15000; })()`},
		{"the clock forgets what is old", `(() => { const c = new Clock(), p = performance.now();
			c.learn(1e9, p); for (let i = 0; i < 16; i++) c.learn(0, p); return c.now() < 1e6; })()`},

		{"no wait is shorter than the server asks", `[0, 1, 5, 50].every((n) => backoff(n, 7000, 0) >= 7000 && backoff(n, 7000, 1) > 7000)`},
		{"waits grow, spread and end", `backoff(0, 0, 0) === 500 && backoff(0, 0, 1) === 1000 && backoff(2, 0, 0) === 2000 && backoff(99, 0, 1) === 16000`},
		{"what may succeed later", `[0, 429, 502, 503, 504].every((status) => passes({ status })) && ![200, 202, 400, 401, 403, 404, 409, 410, 500].some((status) => passes({ status }))`},

		{"before the opening", `salePhase(at("LOADED"), 999) === "early" && salePhase(at("CREATED"), 0) === "early"`},
		{"the clock opens, the server sells", `salePhase(at("LOADED"), 1000) === "opening" && salePhase(at("OPEN"), 1000) === "open"`},
		{"who waits for an own turn sees it open", `salePhase(at("LOADED"), 1000, 1500) === "open" && salePhase(at("LOADED"), 1500, 1500) === "opening" && salePhase(at("PAUSED"), 1000, 1500) === "paused"`},
		{"an open sale that a slow clock finds early", `salePhase(at("OPEN"), 999) === "early"`},
		{"paused and closed", `salePhase(at("PAUSED"), 1500) === "paused" && salePhase(at("CLOSED"), 0) === "closed" && salePhase(at("OPEN"), 2000) === "closed"`},

		{"not placed before it is written", `orderPhase({ status: "PENDING", payable: false }, 0) === "processing"`},
		{"payable until its time", `orderPhase(due(true), 999) === "payable" && orderPhase(due(true), 999, true) === "confirming" && orderPhase(due(true), 1000) === "overdue" && orderPhase(due(false), 0) === "overdue"`},
		{"the ends", `["PAID", "EXPIRED", "CANCELLED", "REJECTED"].every((status) => orderPhase({ status }) === status.toLowerCase() && isFinal({ status }))`},
		{"who may buy again", `["EXPIRED", "CANCELLED", "REJECTED"].every((status) => !isActive({ status })) && ["PENDING", "PAID"].every((status) => isActive({ status }))`},

		{"an own order comes first", `offer({ ...asks, phase: "closed", order: { status: "PAID", itemId: 7 } }) === "yours" && offer({ ...asks, order: { status: "PENDING", itemId: 8 } }) === "other"`},
		{"an ended order does not count", `offer({ ...asks, order: { status: "EXPIRED", itemId: 7 } }) === "buy"`},
		{"sold out", `offer({ ...asks, item: { itemId: 7, soldOut: true, purchaseUrl: "/x" } }) === "soldOut"`},
		{"without an address nothing is sold", `offer({ ...asks, item: { itemId: 7 } }) === "opening"`},
		{"an own start", `offer({ ...asks, needsPass: true, turn: 0 }) === "turn" && offer({ ...asks, needsPass: true, turn: 6 }) === "turn" && offer({ ...asks, needsPass: true, turn: 5 }) === "buy"`},
		{"nobody is signed in", `offer({ ...asks, signedIn: undefined }) === "signIn"`},

		{"who waits asks seldom", `untilPoll(from(3_600_000), 0, false, 0, 0) >= 40_000 && untilPoll(from(3_600_000), 0, false, 0, 1) <= 60_000`},
		{"and over a second at the opening", `untilPoll(from(8000), 0, false, 0, 0) === 8000 && untilPoll(from(8000), 0, false, 0, 1) === 9000`},
		{"no wait passes the opening", `[13, 20, 60, 100].every((s) => untilPoll(from(s * 1000), 0, false, 0, 1) < s * 1000)`},
		{"who has an own turn asks then, not at the opening", `[0, 1].every((r) => untilPoll(from(8000), 0, false, 50_000, r) === 50_000 && untilPoll(from(8000), 9000, false, 50_000, r) === 41_000)`},
		{"and is seldom there before", `[100, 600, 3600].every((s) => untilPoll(from(8000), 0, false, s * 1000, 1) >= 30_000 && untilPoll(from(8000), 0, false, s * 1000, 1) <= 60_000)`},
		{"after the own turn as everybody", `untilPoll({ ...from(0), state: "OPEN" }, 9000, false, 8999, 0) === 1500`},
		{"a copy from before the opening is waited out", `untilPoll({ ...from(5000), serverTime: iso(4800) }, 5300, false, 0, 0) === 500 && untilPoll({ ...from(5000), serverTime: iso(4800) }, 5300, false, 0, 1) === 900`},

		{"a shopper's keys end, not those of another whose name begins so", `(async () => {
			const real = fetch;
			globalThis.fetch = async () => Response.json({ error: "INTERNAL" }, { status: 403 });
			for (const user of ["a b", "a"]) {
				await purchase({ api: "", saleId: "7", itemId: 1, session: { user, token: async () => "t" }, pass() {}, tell() {} });
			}
			globalThis.fetch = real;
			const keys = () => Object.keys(localStorage).filter((name) => name.includes(" 7 ")).length;
			const before = keys();
			forget("7", "a");
			return before === 2 && keys() === 1;
		})()`},
		{"marks", `mark(100_000, 0, [60, 30]) === undefined && mark(100_000, 40_000, [60, 30]) === 60 && mark(100_000, 75_000, [60, 30]) === 30 && mark(100_000, 100_000, [60, 30]) === undefined`},
		{"both languages say everything", `Object.values(texts).every(([en, de, ...more]) => en && de && !more.length && String(en.match(/\{\w+\}/g)) === String(de.match(/\{\w+\}/g)))`},
		{"each state has its words", `["processing", "payable", "confirming", "overdue", "paid", "expired", "cancelled", "rejected"].every((name) => name in texts && name + "Text" in texts)`},
		{"each offer has its words", `["buy", "signIn", "asking", "early", "opening", "paused", "soldOut", "closed", "yours", "other", "turn"].every((name) => "b_" + name in texts)`},
		{"prices are not rounded", `price("12345678901234567.89", "EUR").includes("12,345,678,901,234,567.89") && price("500", "JPY").includes("500")`},
	} {
		yes, err := eval[bool](p, `Promise.all(["clock", "api", "order", "purchase", "text"].map((name) => import("/" + name + ".js"))).then((modules) => {
			const { Clock, parts, short, backoff, passes, salePhase, orderPhase, isFinal, isActive, offer, untilPoll, mark, purchase, forget, texts, price } = Object.assign({}, ...modules);
			const iso = (ms) => new Date(ms).toISOString();
			const at = (state) => ({ state, opensAt: iso(1000), closesAt: iso(2000) });
			const from = (ms) => ({ state: "LOADED", opensAt: iso(ms), closesAt: iso(1e9) });
			const due = (payable) => ({ status: "PENDING", payBy: iso(1000), payable });
			const asks = { phase: "open", item: { itemId: 7, purchaseUrl: "/x" }, signedIn: "u1", now: 5 };
			return `+test.expression+`; })`)
		if err != nil || !yes {
			t.Errorf("%s: got %v, %v, want %s", test.name, yes, err, test.expression)
		}
	}
}
