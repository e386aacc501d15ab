// Who the shopper is: OpenID Connect's authorization code with PKCE, or a token of the shop's
// own. The page sees no password, and the token stays in this tab's session storage.

const stored = "flashsale session";
const under = "flashsale sign-in"; // what a sign-in under way must remember
const here = location.origin + location.pathname; // two slashes alone would be another host

const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

// claims only names the shopper; the API checks the token.
function claims(token) {
  try {
    const text = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  } catch {
    return {};
  }
}

export class Session {
  #token;
  #channel = new BroadcastChannel("flashsale session");
  failed = false; // the last sign-in was refused

  // user is the token's sub, undefined while nobody is signed in; name is for people. changed
  // is called whenever the shopper is another one.
  constructor(identity, changed) {
    this.identity = identity;
    this.changed = changed;
    this.#channel.onmessage = ({ data }) => this.#hear(data);
  }

  // open finds who is signed in: back from the provider, before a reload, or in another tab.
  async open() {
    if (this.#hook) return void await this.#ask();
    const query = new URLSearchParams(location.search);
    if (query.has("state") && (query.has("code") || query.has("error"))) await this.#finish(query);
    else this.#take(sessionStorage.getItem(stored));
    if (!this.user) this.#channel.postMessage({ ask: true });
  }

  // token is the shopper's; fresh says that the API has refused it.
  async token(fresh = false) {
    if (fresh && this.#hook) await this.#ask();
    else if (fresh) this.#take(null);
    return this.#token;
  }

  async signIn() {
    const { authorize, clientId, scope = "openid", signIn } = this.identity;
    if (this.#hook) return void (signIn ? location.assign(signIn) : await this.#ask());
    const [state, verifier] = [random(), random()];
    sessionStorage.setItem(under, JSON.stringify({ state, verifier, back: location.search + location.hash }));
    const challenge = base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
    const url = new URL(authorize, location.href);
    for (const [name, value] of Object.entries({
      response_type: "code", client_id: clientId, redirect_uri: this.#redirect, scope, state,
      code_challenge: challenge, code_challenge_method: "S256",
    })) url.searchParams.set(name, value);
    location.assign(url);
  }

  get canSignOut() { return Boolean(this.user) && !this.#hook; }

  signOut() {
    this.#take(null);
    this.#channel.postMessage({ out: true });
  }

  get #hook() { return window.flashsaleToken || this.identity.tokenUrl; }

  get #redirect() { return new URL(this.identity.redirect ?? here, location.href).href; }

  // ask takes the token of the shop's own function or address.
  async #ask() {
    try {
      if (window.flashsaleToken) return this.#take(await window.flashsaleToken());
      const response = await fetch(this.identity.tokenUrl, { cache: "no-store", credentials: "same-origin" });
      this.#take(response.ok ? (await response.json()).token : null);
    } catch {
      // Whoever was signed in still is.
    }
  }

  async #finish(query) {
    const begun = JSON.parse(sessionStorage.getItem(under) ?? "{}");
    sessionStorage.removeItem(under);
    history.replaceState(null, "", here + (begun.back ?? ""));
    // A code that this tab did not ask for may be somebody else's.
    if (!query.get("code") || !begun.state || query.get("state") !== begun.state) {
      this.failed = true;
      return;
    }
    try {
      const response = await fetch(this.identity.token, {
        method: "POST", credentials: "omit", body: new URLSearchParams({
          grant_type: "authorization_code", code: query.get("code"), redirect_uri: this.#redirect,
          client_id: this.identity.clientId, code_verifier: begun.verifier,
        }),
      });
      const answer = await response.json();
      this.#take(answer[this.identity.use ?? "access_token"]);
    } catch { /* said below */ }
    this.failed = !this.user;
  }

  #take(token) {
    const { sub, name, preferred_username: username, email } = token ? claims(token) : {};
    const before = this.user;
    this.#token = sub ? token : undefined;
    this.user = sub;
    this.name = name ?? username ?? email ?? sub;
    if (sub && !this.#hook) sessionStorage.setItem(stored, token);
    else sessionStorage.removeItem(stored);
    if (sub !== before) this.changed();
  }

  // hear lets a new tab have the token of one that is signed in.
  #hear(message) {
    if (this.#hook) return;
    if (message.ask && this.#token) this.#channel.postMessage({ token: this.#token });
    if (message.token && !this.user) this.#take(message.token);
    if (message.out) this.#take(null);
  }
}
