// The operator's view: asks saleadmin once a second, and lets it act.

import { backoff, Bell } from "/api.js";
import { History, rates } from "./chart.js";
import { seconds, showAnswers, showStory, View } from "./show.js";

const $ = (id) => document.getElementById(id);
const period = 1000;
const patience = 10_000;

async function json(url, options = {}) {
  const response = await fetch(url, { cache: "no-store", ...options, signal: AbortSignal.timeout(options.patience ?? patience) });
  if (!response.ok || response.headers.has("X-Amz-Function-Error")) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

// admin asks saleadmin. A refusal is thrown too: nothing was done.
async function admin(action, more = {}, waits = patience) {
  const answer = await json("/2015-03-31/functions/saleadmin/invocations", {
    method: "POST", body: JSON.stringify({ action, saleId, by: "dev operator", ...more }), patience: waits,
  });
  if (answer.error) throw new Error(`${answer.error}: ${answer.message}`);
  return answer;
}

const bell = new Bell();
const view = new View();
const answers = new History(seconds);
const names = {};
let saleId;
let counted; // the last look at purchase's answers

function live(how, text) {
  $("live").dataset.live = how;
  $("live").textContent = text;
}

async function look() {
  const [report, explained, totals] = await Promise.all([
    admin("report"), admin("explain", { userId: "-" }), json("answers"),
  ]);
  const at = Date.now();
  const now = { at, values: totals };
  const rate = rates(counted ?? now, now);
  counted = now;
  if (report.items.some(({ itemId }) => !(itemId in names))) await learnNames();
  view.show(at, report, explained.sale, names);
  showAnswers(answers.add(at, rate), rate, totals);
  const over = report.state === "ARCHIVED";
  $("pause").disabled = over || explained.sale.paused.includes("operator");
  $("resume").disabled = over || !explained.sale.paused.includes("operator");
  $("reconcile").disabled = over || report.items.every((item) => item.shards.length === 0);
}

// learnNames reads the public view, which may not know a young sale yet.
async function learnNames() {
  try {
    const sale = await json(`/api/flash-sales/${saleId}`);
    $("name").textContent = sale.name;
    document.title = `Operator: ${sale.name}`;
    for (const item of sale.items) names[item.itemId] = item.name;
  } catch { /* the ids do */ }
}

async function poll() {
  for (let failed = 0; ;) {
    try {
      await look();
      failed = 0;
      live("yes", "live");
    } catch (error) {
      live("no", `no answer: ${error.message}`);
      failed++;
    }
    await bell.wait(failed ? backoff(failed - 1, 0) : period);
  }
}

const actions = {
  pause: ["Pause the sale?", "Nobody can buy until it is resumed: shoppers hear 503 and their pages try again. Orders and payments go on.", "Paused."],
  resume: ["Resume the sale?", "Shoppers can buy again at once, within the sale's window.", "Resumed."],
  reconcile: ["Reconcile the sale?", "Redis is compared with the rows and mended. Selling goes on meanwhile.", ""],
};

async function act(action) {
  const [title, text, done] = actions[action];
  $("sure-title").textContent = title;
  $("sure-text").textContent = text;
  $("yes").textContent = $(action).textContent;
  const sure = $("sure");
  sure.returnValue = "no";
  sure.showModal();
  await new Promise((closed) => { sure.addEventListener("close", closed, { once: true }); });
  if (sure.returnValue !== "yes") return;
  $("say").textContent = `${$(action).textContent} …`;
  try {
    const { adopted, released, repaired } = await admin(action, {}, 310_000);
    $("say").textContent = done || `Reconciled: ${adopted} holds put back, ${released} freed, ${repaired} repairs.`;
  } catch (error) {
    $("say").textContent = `Not done. ${error.message}`;
  }
  bell.ring();
}

for (const action of Object.keys(actions)) $(action).addEventListener("click", () => act(action));

$("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    showStory(await admin("explain", { userId: $("user").value }));
  } catch (error) {
    $("story").textContent = error.message;
  }
});

saleId = Number(new URLSearchParams(location.search).get("sale")) || undefined;
while (!saleId) {
  try {
    ({ saleId } = await json("/config.json"));
  } catch {
    await bell.wait(period);
  }
}
poll();
