package prompt

import "vitrine/llm"

// ShortTokens is about what a shortened result costs; results below it stay as they are.
const ShortTokens = 120

// Item is one message of the window as the planner sees it.
type Item struct {
	N      int64
	Role   llm.Role
	Kind   llm.Kind
	Tokens int
	// Short is what the message would cost when shortened; as much as Tokens when it cannot be.
	Short int
}

// Room is what a request has to fit into, in the same estimated tokens as Item.Tokens.
type Room struct {
	// Fixed is system prompt, schemas, memory block and the reply's reserve.
	Fixed int
	// Limit is the whole; RawTurns is how many turns stay when there is no pressure.
	Limit, RawTurns int
	// Memory is what the memory block may grow by.
	Memory int
}

// Plan is what a fold would do. The zero value is nothing.
type Plan struct {
	// Turns says that there are too many turns, Tokens that there are too many tokens.
	Turns, Tokens bool
	// Shorten names the results to shorten.
	Shorten []int64
	// First to Last leave the window; From is its new first message, Keep a user message before it that stays verbatim. All are
	// 0 when no message leaves.
	First, Last, From, Keep int64
	// Before and After are the window's tokens.
	Before, After int
	// Fits says that the request fits afterwards.
	Fits bool
}

// Nothing says that the plan would change nothing.
func (p Plan) Nothing() bool { return len(p.Shorten) == 0 && p.Last == 0 }

// Due says whether a fold has to run before a request with this window: more turns than the slack allows, or more tokens than
// fit.
func Due(window []Item, room Room) (turns, tokens bool) {
	count, sum := 0, room.Fixed
	for _, it := range window {
		sum += it.Tokens
		if it.Kind == llm.KindUser {
			count++
		}
	}
	return room.RawTurns > 0 && count > room.RawTurns+room.RawTurns/4, sum > room.Limit
}

// Make plans a fold: for too many turns the oldest leave until RawTurns are left; for too many tokens results of completed
// steps are shortened; if that leaves more than three fourths of the budget in use, whole turns leave until it is half, then
// completed steps of the current turn. asked folds all but the current turn whatever the numbers.
func Make(window []Item, room Room, asked bool) Plan {
	p := Plan{Fits: true}
	p.Turns, p.Tokens = Due(window, room)
	for _, it := range window {
		p.Before += it.Tokens
	}
	p.After = p.Before
	if !p.Turns && !p.Tokens && !asked {
		return p
	}
	w := newWindow(window)
	if p.Tokens {
		p.Shorten = w.shorten()
	}
	// Shortening that makes room enough costs no turn; when turns have to leave, they leave down to half.
	pressed := p.Tokens && room.Fixed+w.sum(0) > room.Limit*3/4
	keep := room.RawTurns
	if asked && !p.Turns && !p.Tokens {
		keep = 1
	}
	cut := 0
	for cut+1 < len(w.turns) {
		over := pressed && room.Fixed+room.Memory+w.sum(w.turns[cut]) > room.Limit/2
		if len(w.turns)-cut <= max(1, keep) && !over {
			break
		}
		cut++
	}
	p.After = w.sum(w.turns[cut])
	if cut > 0 {
		p.First, p.Last, p.From = window[0].N, window[w.turns[cut]-1].N, window[w.turns[cut]].N
	}
	if p.Tokens && room.Fixed+room.Memory+p.After > room.Limit {
		w.foldSteps(&p, w.turns[cut], room)
	}
	p.keepShortened(window)
	p.Fits = room.Fixed+p.After <= room.Limit
	if p.Last > 0 {
		p.Fits = room.Fixed+room.Memory+p.After <= room.Limit
	}
	return p
}

// keepShortened leaves out of Shorten what leaves the window anyway.
func (p *Plan) keepShortened(window []Item) {
	if p.Last == 0 {
		return
	}
	var still []int64
	for _, n := range p.Shorten {
		if n > p.Last {
			still = append(still, n)
		}
	}
	p.Shorten = still
}

// windowView is a window with its turns and steps.
type windowView struct {
	items []Item
	cost  []int
	turns []int // where each turn begins
}

func newWindow(items []Item) *windowView {
	w := &windowView{items: items}
	for i, it := range items {
		w.cost = append(w.cost, it.Tokens)
		if it.Kind == llm.KindUser {
			w.turns = append(w.turns, i)
		}
	}
	if len(w.turns) == 0 || w.turns[0] != 0 {
		w.turns = append([]int{0}, w.turns...)
	}
	return w
}

func (w *windowView) sum(from int) int {
	n := 0
	for _, c := range w.cost[from:] {
		n += c
	}
	return n
}

// newestStep is where the newest step of the last turn begins: its assistant message, or the window's end.
func (w *windowView) newestStep() int {
	for i := len(w.items) - 1; i > w.turns[len(w.turns)-1]; i-- {
		if w.items[i].Role == llm.RoleAssistant {
			return i
		}
	}
	return len(w.items)
}

// shorten takes the results of completed steps at their short cost and names them.
func (w *windowView) shorten() []int64 {
	var out []int64
	for i := range w.items[:w.newestStep()] {
		if it := w.items[i]; it.Role == llm.RoleTool && it.Short < it.Tokens {
			w.cost[i] = it.Short
			out = append(out, it.N)
		}
	}
	return out
}

// foldSteps lets completed steps of the current turn leave, the newest step excepted; the turn's user message stays.
func (w *windowView) foldSteps(p *Plan, turn int, room Room) {
	step := w.newestStep()
	first := turn + 1
	if step >= len(w.items) || step <= first {
		return
	}
	if p.Last == 0 {
		p.First = w.items[first].N
	}
	p.Last, p.From, p.Keep = w.items[step-1].N, w.items[step].N, w.items[turn].N
	p.After = w.cost[turn] + w.sum(step)
}
