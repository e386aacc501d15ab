// The server's time, whatever the shopper's clock says. Times are milliseconds of the epoch.

const kept = 16;

export class Clock {
  #offsets = [];

  // learn takes an answer's serverTime and when it arrived. Answers are old when they come, from
  // caches too, so the latest of their times is the best, and the countdown never runs ahead.
  learn(serverTime, arrived = performance.now()) {
    this.#offsets.push(serverTime - arrived);
    // Old ones go: after sleep performance.now() may have stood still.
    if (this.#offsets.length > kept) this.#offsets.shift();
  }

  get known() { return this.#offsets.length > 0; }

  now() { return Math.max(...this.#offsets) + performance.now(); }
}

// parts splits a time that is left; a begun second counts, so 0 means over.
export function parts(ms) {
  const all = Math.max(0, Math.ceil(ms / 1000));
  return {
    days: Math.floor(all / 86400), hours: Math.floor(all / 3600) % 24,
    minutes: Math.floor(all / 60) % 60, seconds: all % 60,
  };
}

// short is a time that is left as 9:59 or 1:09:59.
export function short(ms) {
  const { days, hours, minutes, seconds } = parts(ms);
  const two = (n) => String(n).padStart(2, "0");
  const all = days * 24 + hours;
  return all ? `${all}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}
