package report

import (
	"fmt"
	"slices"
	"strings"
)

// A Promise is one that the system made, and whether it was kept.
type Promise struct {
	Name   string `json:"name"`
	Kept   bool   `json:"kept"`
	Judged bool   `json:"judged"` // false: this run could not see it
	Says   string `json:"says"`   // the figures
}

// Judge computes the verdict from the figures.
func (r *Report) Judge() {
	r.Promises, r.Broken = nil, false
	o, system := &r.Orders, r.System

	judge := func(name string, judged, kept bool, format string, args ...any) {
		r.Promises = append(r.Promises, Promise{name, kept || !judged, judged, fmt.Sprintf(format, args...)})
		r.Broken = r.Broken || judged && !kept
	}
	judge("Every shopper is accounted for", true, r.inOneClass() && r.Classes[Unfinished] == 0 && r.answered() > 0,
		"%s shoppers, %s in a class, %s unfinished, %s with a final answer",
		grouped(r.Shoppers), grouped(r.classified()), grouped(r.Classes[Unfinished]), grouped(r.answered()))

	active, oversold := o.Active(), max(0, o.Active()-r.Units)
	if system != nil {
		oversold = max(oversold, system.Rows["PENDING"]+system.Rows["PAID"]-r.Units)
	}
	judge("Never one too many", r.Units > 0, oversold == 0, "%s units, %s orders hold one, %d oversold", grouped(r.Units), grouped(active), oversold)
	judge("Never one lost", true, o.Lost == 0, "%s orders told of, %d lost or rejected", grouped(o.Told), o.Lost)
	judge("One order for a shopper", true, o.Double == 0, "%d second orders", o.Double)
	judge("Nobody sees another's order", true, o.Foreign == 0, "%d answers about something else", o.Foreign)

	distinct := o.IDs.Distinct()
	if system == nil {
		judge("Answers and order ids agree", true, distinct == o.Told && len(o.IDs) == o.Told, "%s told of, %s different ids", grouped(o.Told), grouped(distinct))
	} else {
		// A purchase that was given up, and so answered 503, leaves a REJECTED row if its
		// record comes after all. Nobody was told of it.
		rows, told := system.Total()-system.Rows["REJECTED"], o.Told-o.Ends["REJECTED"]
		judge("Answers, order ids and rows agree", true, distinct == o.Told && rows == told,
			"%s told of, %s different ids, %s rows, and %s of purchases that were given up",
			grouped(told), grouped(distinct), grouped(rows), grouped(system.Rows["REJECTED"]-o.Ends["REJECTED"]))
	}
	judge("Every order is written", true, o.Unopened == 0, "%d never payable", o.Unopened)
	if r.Lottery {
		judge("Nobody buys before the own turn", true, o.Early == 0, "%d before it", o.Early)
	}
	judge("Payments and cancels last", true, o.Undone == 0, "%d undone", o.Undone)

	undersold := 0
	if o.SoldOutLast {
		undersold = max(0, r.Units-active)
	}
	missing, err := missingParts(r.Parts)
	whole := err == nil && len(missing) == 0          // a part does not know what the others have bought
	heard := o.SoldOutLast || r.Classes[SoldOut] == 0 // else nobody was there to hear it last
	judge("Nothing undersold", r.Units > 0 && whole && heard, undersold == 0, "%d units left while shoppers hear “sold out”", undersold)

	strange := r.strange()
	judge("No strange answers", true, len(strange) == 0 && r.Classes[Failed] == 0, "%s", orNone(strange))
	if system != nil {
		judge("The system is whole", true, system.Conserved && system.Drift == 0 && system.Waiting == 0,
			"conserved %t, drift %d, %d waiting", system.Conserved, system.Drift, system.Waiting)
	}
}

func (r *Report) classified() (n int) {
	for _, shoppers := range r.Classes {
		n += shoppers
	}
	return n
}

// inOneClass finds shoppers who were counted twice or not at all.
func (r *Report) inOneClass() bool {
	for class, n := range r.Classes {
		if n < 0 || !slices.Contains(Classes, class) {
			return false
		}
	}
	return r.classified() == r.Shoppers
}

// answered counts the shoppers who know how it ended. Without any the run shows nothing.
func (r *Report) answered() int {
	return r.Classes[Bought] + r.Classes[Found] + r.Classes[SoldOut] + r.Classes[Closed] + r.Classes[HadOrder]
}

// expected are the answers that shoppers may get. 504 is API Gateway's own patience.
var expected = []string{
	"POST none", "POST 202", "POST 403 SALE_NOT_OPEN", "POST 403 ADMISSION_REQUIRED", "POST 409 ALREADY_PURCHASED", "POST 410 SOLD_OUT",
	"POST 410 SALE_CLOSED", "POST 429", "POST 503", "POST 504", "GET none", "GET 200", "GET 404 NO_ORDER", "GET 429", "GET 503", "GET 504",
	"DELETE none", "DELETE 200", "DELETE 409 ORDER_NOT_CANCELLABLE", "DELETE 429", "DELETE 503", "DELETE 504", "PAY accepted", "PAY none",
	"PASS none", "PASS 200", "PASS 410 SALE_CLOSED",
}

func (r *Report) strange() (found []string) {
	for answer, n := range r.Answers {
		// 429 and 503 come from the gateway too, with codes of its own.
		whole := slices.Contains(expected, answer)
		fields := strings.Fields(answer)
		busy := len(fields) > 1 && (fields[1] == "429" || fields[1] == "503" || fields[1] == "504")
		if n > 0 && !whole && !busy {
			found = append(found, fmt.Sprintf("%s: %d", answer, n))
		}
	}
	slices.Sort(found)
	return found
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
