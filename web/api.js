// Calls to the API, and how long to wait before the next one.

const patience = 10_000;
const longest = 16_000;

// call answers {status, code, body, retryAfter} and never throws. Status 0: no answer of the API's.
export async function call(url, { method = "GET", token, headers = {} } = {}) {
  const sent = { ...headers };
  // Only a shopper's calls carry the token: the others can be cached for all.
  if (token) sent.Authorization = `Bearer ${token}`;
  try {
    const response = await fetch(url, {
      method, headers: sent, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(patience),
    });
    const body = await response.json();
    const seconds = Number(response.headers.get("Retry-After"));
    return { status: response.status, code: body.error, body, retryAfter: seconds > 0 ? seconds * 1000 : 0 };
  } catch {
    return { status: 0, code: undefined, body: {}, retryAfter: 0 };
  }
}

// passes tells whether the same call may succeed later.
export function passes({ status }) {
  return status === 0 || status === 429 || (status > 500 && status < 600);
}

// backoff is the wait after so many tries: never shorter than the server asks, longer each time,
// and spread.
export function backoff(tries, retryAfter, random = Math.random()) {
  const step = Math.min(longest, 1000 * 2 ** tries);
  return Math.max(retryAfter, step / 2) + random * step / 2;
}

export const wait = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// A Bell is a wait that can be cut short.
export class Bell {
  #ring = () => {};

  ring() { this.#ring(); }

  wait(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#ring = () => { clearTimeout(timer); resolve(); };
    });
  }
}
