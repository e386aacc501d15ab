// The page's two languages, and how each writes prices, days and times.

export const texts = {
  other: ["Deutsch", "English"],
  signIn: ["Sign in", "Anmelden"],
  signOut: ["Sign out", "Abmelden"],
  loading: ["Loading the sale", "Der Verkauf wird geladen"],
  UNKNOWN_SALE: ["There is no such sale.", "Diesen Verkauf gibt es nicht."],
  early: ["Opens soon", "Öffnet bald"],
  opening: ["Opening now", "Öffnet jetzt"],
  open: ["On sale now", "Jetzt im Verkauf"],
  paused: ["Paused for a moment", "Kurz angehalten"],
  closed: ["The sale is over", "Der Verkauf ist vorbei"],
  opensAt: ["Opens {when}", "Öffnet {when}"],
  closesAt: ["Ends {when}", "Endet {when}"],
  closedAt: ["Ended {when}", "Endete {when}"],
  turnAt: ["Your own start: {when}", "Ihr eigener Start: {when}"],
  opensIn: ["Until the opening", "Bis zur Öffnung"],
  closesIn: ["Time left", "Noch"],
  turnIn: ["Until your start", "Bis zu Ihrem Start"],
  turnWhy: ["Lots were drawn. Your place is safe; being quick changes nothing.",
    "Der Start wurde verlost. Ihr Platz ist sicher; Eile ändert nichts."],
  pausedWhy: ["It goes on here by itself.", "Es geht hier von selbst weiter."],
  days: ["days", "Tage"],
  hours: ["hours", "Stunden"],
  minutes: ["minutes", "Minuten"],
  seconds: ["seconds", "Sekunden"],
  items: ["Items", "Artikel"],
  oneEach: ["One item per person in this sale.", "Ein Artikel pro Person in diesem Verkauf."],
  zone: ["Times are in your time zone, {zone}.", "Zeiten gelten in Ihrer Zeitzone, {zone}."],

  // What an item's button says.
  b_buy: ["Buy now", "Jetzt kaufen"],
  b_signIn: ["Sign in to buy", "Zum Kaufen anmelden"],
  b_asking: ["One moment …", "Einen Moment …"],
  b_early: ["Not open yet", "Noch nicht offen"],
  b_opening: ["Opening …", "Öffnet …"],
  b_paused: ["Paused", "Angehalten"],
  b_soldOut: ["Sold out", "Ausverkauft"],
  b_closed: ["Sale is over", "Verkauf vorbei"],
  b_yours: ["Your order", "Ihre Bestellung"],
  b_other: ["One per person", "Einer pro Person"],
  b_turn: ["Not your turn yet", "Noch nicht Ihr Start"],

  stock: ["Available", "Verfügbar"],
  stockNone: ["Sold out for now", "Vorerst ausverkauft"],
  stockSoon: ["Not on sale yet", "Noch nicht im Verkauf"],
  stockOver: ["No longer on sale", "Nicht mehr im Verkauf"],
  hope: ["Items that nobody pays for come back: the button then wakes up by itself.",
    "Was niemand bezahlt, kommt zurück: Dann wird der Knopf von selbst aktiv."],

  silent: ["No answer yet. We keep trying for you; it stays one order.",
    "Noch keine Antwort. Wir versuchen es weiter; es bleibt eine Bestellung."],
  busy: ["Very busy. We keep trying for you; it stays one order.",
    "Großer Andrang. Wir versuchen es weiter; es bleibt eine Bestellung."],
  offline: ["You are offline. The page goes on by itself once you are back.",
    "Sie sind offline. Die Seite macht von selbst weiter, sobald Sie wieder da sind."],
  unreachable: ["The shop does not answer. We keep trying.", "Der Shop antwortet nicht. Wir versuchen es weiter."],
  crowded: ["The shop is very busy. We keep trying.", "Im Shop ist großer Andrang. Wir versuchen es weiter."],
  SOLD_OUT: ["Somebody was faster: sold out for now.", "Jemand war schneller: vorerst ausverkauft."],
  SALE_NOT_OPEN: ["The sale is not open yet.", "Der Verkauf ist noch nicht offen."],
  UNAUTHENTICATED: ["Please sign in again.", "Bitte melden Sie sich neu an."],
  ADMISSION_REQUIRED: ["It is not your turn yet.", "Sie sind noch nicht an der Reihe."],
  GAVE_UP: ["The shop does not answer. Try again: it stays one order.",
    "Der Shop antwortet nicht. Noch einmal versuchen: Es bleibt eine Bestellung."],
  INTERNAL: ["Something went wrong. Please try again.", "Etwas ist schiefgegangen. Bitte noch einmal versuchen."],
  signInFailed: ["The sign-in did not work. Please try again.", "Die Anmeldung hat nicht geklappt. Bitte noch einmal versuchen."],
  notCancelled: ["It could not be cancelled now. Please try again.",
    "Das ging gerade nicht. Bitte noch einmal versuchen."],
  already: ["You already have an order in this sale.", "Sie haben in diesem Verkauf schon eine Bestellung."],

  // An order's state, and what it means.
  processing: ["Your order is being processed", "Ihre Bestellung wird bearbeitet"],
  processingText: ["A unit is held for you. The order counts once it is written, within seconds.",
    "Ein Stück ist für Sie reserviert. Die Bestellung gilt, sobald sie geschrieben ist, in Sekunden."],
  payable: ["Reserved for you", "Für Sie reserviert"],
  payableText: ["Pay in time, or the item goes back on sale.", "Bitte rechtzeitig bezahlen, sonst geht der Artikel zurück in den Verkauf."],
  confirming: ["Waiting for your payment", "Wir warten auf Ihre Zahlung"],
  confirmingText: ["We have not heard of it yet. It shows here as soon as we do.",
    "Noch ist nichts angekommen. Sobald sie da ist, steht es hier."],
  overdue: ["The time to pay is over", "Die Zeit zum Bezahlen ist um"],
  overdueText: ["If you have just paid, wait a moment. Otherwise the order ends now.",
    "Gerade bezahlt? Dann einen Moment. Sonst endet die Bestellung jetzt."],
  paid: ["Paid. It is yours", "Bezahlt. Es gehört Ihnen"],
  paidText: ["Thank you. The shop gets your order ready.", "Vielen Dank. Der Shop macht Ihre Bestellung fertig."],
  expired: ["The order has expired", "Die Bestellung ist abgelaufen"],
  expiredText: ["It was not paid in time. You can buy again.", "Sie wurde nicht rechtzeitig bezahlt. Sie können noch einmal kaufen."],
  cancelled: ["The order is cancelled", "Die Bestellung ist storniert"],
  cancelledText: ["You can buy again while items are left.", "Sie können noch einmal kaufen, solange etwas da ist."],
  rejected: ["The order could not be placed", "Die Bestellung kam nicht zustande"],
  rejectedText: ["There is nothing to pay. You can try again.",
    "Zu bezahlen ist nichts. Sie können es noch einmal versuchen."],
  stepHeld: ["Held", "Gehalten"],
  stepPay: ["Pay", "Bezahlen"],
  stepDone: ["Yours", "Ihres"],
  payLeft: ["Time left to pay", "Zeit zum Bezahlen"],
  pay: ["Pay now", "Jetzt bezahlen"],
  payAgain: ["Back to the payment", "Zurück zur Zahlung"],
  cancel: ["Cancel the order", "Bestellung stornieren"],
  orderNumber: ["Order {id}", "Bestellung {id}"],
  askCancel: ["Cancel this order?", "Diese Bestellung stornieren?"],
  askWhy: ["The item goes back on sale at once.", "Der Artikel geht sofort zurück in den Verkauf."],
  keep: ["Keep the order", "Bestellung behalten"],
  confirm: ["Yes, cancel it", "Ja, stornieren"],
};

const stored = "flashsale language";
const codes = ["en", "de"];
const chosen = localStorage.getItem(stored);

// locale is the shopper's choice, else the first of the browser's that the page speaks.
export let locale = [chosen, ...navigator.languages].find((tag) => codes.includes(tag?.slice(0, 2))) ?? "en";

export const language = () => locale.slice(0, 2);
export const otherLanguage = () => codes.find((code) => code !== language());

export function switchLanguage() {
  const code = otherLanguage();
  localStorage.setItem(stored, code);
  locale = navigator.languages.find((tag) => tag.startsWith(code)) ?? code;
}

// text is a sentence of the page, with what stands in {braces} filled in.
export const text = (name, values) => texts[name][codes.indexOf(language())].replace(/\{(\w+)\}/g, (_, key) => values[key]);

// price takes the API's text as it is: a number would round it.
export const price = (amount, currency) => new Intl.NumberFormat(locale, { style: "currency", currency }).format(amount);

// moment is a day and time in the shopper's zone.
export const moment = (ms, second) => new Intl.DateTimeFormat(locale, {
  weekday: "long", day: "numeric", month: "long", hour: "2-digit", minute: "2-digit", second, timeZoneName: "short",
}).format(ms);

export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone.replaceAll("_", " ");

// span says minutes or seconds, for those who listen.
export const span = (seconds) => new Intl.NumberFormat(locale, {
  style: "unit", unit: seconds < 60 ? "second" : "minute", unitDisplay: "long",
}).format(seconds < 60 ? seconds : seconds / 60);
