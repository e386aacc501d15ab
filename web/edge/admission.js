// The admission check at the edge: a CloudFront Function (viewer request, runtime 2.0).
//
// It refuses purchases without a good admission pass before they cost anything, and passes
// everything else on, with the caller's address in a header. It is a shield, not the guard: the
// purchase function checks the same pass again, verifies the token whose `sub` is only read here,
// and knows the sale as it is now. So what this function is not told of is let through.
//
// It is told by its KeyValueStore (values up to 1 KB, read anew within seconds of a change):
//   keys         as ADMISSION_KEYS: id:secret,id:secret. All verify
//   item:<id>    the id of the sale that offers the item; only for sales with a spread
//
// A pass is made by shared/admission, which describes it; testdata/vectors.json holds both to the
// same verdicts. The clocks may differ by `allowance`, as there.
//
// What the runtime does not have: modules but cloudfront and crypto, the network, timers, eval,
// for-of, spread, closures that are async. 10 KB at most, and about a millisecond.

import cf from 'cloudfront';

const crypto = require('crypto');

const store = cf.kvs();
const allowance = 250; // milliseconds
const purchase = /\/api\/flash-sales\/items\/([1-9][0-9]{0,18})\/purchase$/;
const bearer = /^bearer +[^ .]+\.([^ .]+)\.[^ .]+$/i;

async function handler(event) {
  const request = event.request;
  // The web ACL of the API counts by it. Set here it is what CloudFront saw, whatever was sent.
  request.headers['true-client-ip'] = { value: event.viewer.ip };
  const item = request.method === 'POST' ? purchase.exec(request.uri) : null;
  if (!item) return request;
  const sale = await read('item:' + item[1]);
  const keys = sale && await read('keys');
  if (!keys) return request;

  const shopper = subject(one(request.headers.authorization));
  if (!shopper) {
    return refuse(401, 'Unauthorized', 'UNAUTHENTICATED', 'Please sign in again.', {}, { 'www-authenticate': { value: 'Bearer' } });
  }
  const pass = verified(one(request.headers['x-admission-pass']), shopper, keys);
  const now = Date.now();
  if (!pass || pass.sale !== sale || now >= pass.closesAt + allowance) {
    return refuse(403, 'Forbidden', 'ADMISSION_REQUIRED', 'An admission pass is needed.', {}, {});
  }
  // The window before the pass, as the function has it.
  if (now < pass.opensAt - allowance) {
    return wait('SALE_NOT_OPEN', 'This sale has not opened yet.', 'opensAt', pass.opensAt, now);
  }
  if (now < pass.notBefore - allowance) {
    return wait('ADMISSION_REQUIRED', 'Your time to buy has not come yet.', 'notBefore', pass.notBefore, now);
  }
  return request;
}

// read returns a value of the store, nothing if there is none.
async function read(key) {
  try {
    return await store.get(key);
  } catch (e) {
    return undefined;
  }
}

// one returns a header's value if it was sent exactly once.
function one(header) {
  return header && !header.multiValue ? header.value : '';
}

// subject reads the shopper from the token without verifying it: the pass is bound to the
// shopper, and a forged token is refused by the function.
function subject(authorization) {
  const token = bearer.exec(authorization);
  if (!token) return '';
  try {
    const sub = JSON.parse(Buffer.from(token[1], 'base64url').toString()).sub;
    return typeof sub === 'string' ? sub : '';
  } catch (e) {
    return '';
  }
}

// verified takes a pass apart if one of the keys has signed it for that shopper.
function verified(pass, shopper, keys) {
  const fields = pass.split('.');
  if (fields.length !== 8 || fields[0] !== '1') return null;
  const secret = secretOf(fields[1], keys);
  if (!secret) return null;
  const text = fields.slice(0, 7).join('.');
  const signature = crypto.createHmac('sha256', secret).update(text + '.' + shopper).digest('base64url');
  if (!same(signature, fields[7])) return null;
  const opensAt = Number(fields[3]);
  return { sale: fields[2], opensAt: opensAt, notBefore: opensAt + Number(fields[5]), closesAt: Number(fields[6]) };
}

function secretOf(id, keys) {
  const list = keys.split(',');
  for (let i = 0; i < list.length; i++) {
    const key = list[i].trim();
    if (key.slice(0, id.length + 1) === id + ':') return key.slice(id.length + 1);
  }
  return '';
}

// same takes as long for every wrong signature: its time tells nothing of how near it was.
function same(a, b) {
  let different = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) different |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return different === 0;
}

function wait(code, message, field, until, now) {
  const more = {};
  more[field] = new Date(until).toISOString();
  return refuse(403, 'Forbidden', code, message, more, { 'retry-after': { value: String(Math.ceil((until - now) / 1000)) } });
}

// refuse answers in the API's own form.
function refuse(status, description, code, message, more, headers) {
  const body = Object.assign({ error: code, message: message }, more);
  return {
    statusCode: status,
    statusDescription: description,
    headers: Object.assign({ 'content-type': { value: 'application/json' }, 'cache-control': { value: 'no-store' } }, headers),
    body: { encoding: 'text', data: JSON.stringify(body) },
  };
}
