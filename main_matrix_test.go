//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// matrixEnv set to full runs the whole matrix, which takes minutes; matrixSeed repeats one run's choices.
	matrixEnv     = "VITRINE_CRASH_MATRIX"
	matrixSeedEnv = "VITRINE_CRASH_SEED"
	// trialWorkers is how many trials run at once. Much of a trial is waiting: for the disk, for the model's pace.
	trialWorkers = 4
	// mostProcesses bounds how many processes one trial may need.
	mostProcesses = 30
	// startSlack is what a start on what a killed process left may take beyond twice a plain one.
	startSlack = 250 * time.Millisecond
	// startCPU is far above what a start and a turn cost; a start that repairs at length would pass it.
	startCPU = 5 * time.Second
)

// blow is how a process is killed: at a fault point, after a time, or when it has printed a number of lines. The zero value
// lets it live.
type blow struct {
	fault string
	after time.Duration
	lines int
}

func (b blow) kind() string {
	switch {
	case b.fault != "":
		point, _, _ := strings.Cut(b.fault, ":")
		return point
	case b.after > 0:
		return "instant by time"
	case b.lines > 0:
		return "instant by output"
	}
	return ""
}

// trial is one session that is driven to the end of its turn, whatever happens to its processes, by what the program itself
// says: what can be resumed, what it asks. All that it promised is checked after each process.
type trial struct {
	dir    string
	ledger world
	prompt string
	rng    *rand.Rand
	tally  *tally
	// blows gives the one for the i-th process.
	blows func(i int) blow
	// cut damages the log after the first kill; lying says that acknowledged commits may have gone with it.
	cut   func(*trial) (bool, error)
	lying bool
	// list names files for the fault points of each process instead of killing it.
	list bool

	last   *found
	acked  map[int64]told
	known  map[string]int // attempts of each call when its outcome was known
	agains map[string]int // how often the user had a call run again
	// forgot are calls that had begun and of which the disk lost that; forgotten counts their effects.
	forgot    map[string]bool
	forgotten map[string]int
	words     []string // flags that answer what was asked last
	killed    int
}

// exit is the end of one process.
type exit struct {
	code   int
	stderr string
	took   time.Duration
	cpu    time.Duration
	first  time.Duration // until it printed the first event; 0 when it printed none
}

// start runs the program once, until it ends or the blow falls, and takes what it acknowledged.
func (tr *trial) start(i int, b blow, args []string) (exit, error) {
	path, err := exec.LookPath("vitrine")
	if err != nil {
		return exit{}, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = tr.dir
	cmd.Env = append([]string{"HOME=" + tr.dir, "TMPDIR=" + tr.dir, "TERM=xterm", "GORACE=" + raceOptions, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")},
		crewEnviron(tr.ledger.dir)...)
	switch {
	case tr.list:
		cmd.Env = append(cmd.Env, "VITRINE_FAULT=list:"+tr.points(i))
	case b.fault != "":
		cmd.Env = append(cmd.Env, "VITRINE_FAULT="+b.fault+":kill")
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return exit{}, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return exit{}, err
	}
	hang := time.AfterFunc(hangLimit, func() { _ = cmd.Process.Kill() })
	defer hang.Stop()
	if b.after > 0 {
		defer time.AfterFunc(b.after, func() { _ = cmd.Process.Kill() }).Stop()
	}
	var first time.Duration
	if err := tr.listen(out, b, cmd.Process, func() { first = time.Since(began) }); err != nil {
		return exit{}, err
	}
	_ = cmd.Wait() // the code says it
	e := exit{first: first, code: cmd.ProcessState.ExitCode(), stderr: errs.String(), took: time.Since(began),
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if e.took > hangLimit {
		return e, fmt.Errorf("%v hangs: %s", args, e.stderr)
	}
	return e, nil
}

// points is the file of the fault points that the i-th process of a counting run passes.
func (tr *trial) points(i int) string { return filepath.Join(tr.ledger.dir, fmt.Sprint("points", i)) }

// listen takes the events that the program prints, and tells of the first one. What was printed is acknowledged.
func (tr *trial) listen(out interface{ Read([]byte) (int, error) }, b blow, p *os.Process, first func()) error {
	r := bufio.NewReader(out)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil // its end; half a line says nothing
		}
		if n == 1 {
			first()
		}
		var e struct {
			Seq   *int64
			RunID string `json:"run_id"`
			Event string
			Data  any
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("standard output has %q: %w", line, err)
		}
		if e.Seq != nil {
			tr.acked[*e.Seq] = told{e.RunID, e.Event, e.Data}
		}
		if n == b.lines {
			_ = p.Kill()
		}
	}
}

// next gives the command that goes on from what is stored; none when the run is over.
func (tr *trial) next() []string {
	words := tr.words
	tr.words = nil
	switch {
	case tr.last.run == "":
		return []string{"run", "--session", "s", "--json", tr.prompt}
	case tr.last.unfinished() && len(words) > 0 && strings.HasPrefix(words[0], "--approve") && tr.rng.IntN(2) == 0:
		return append([]string{"run", "--json", "--session", "s"}, words...)
	case tr.last.unfinished():
		return append([]string{"run", "--json", "--resume", tr.last.run}, words...)
	}
	return nil
}

// play drives the trial to its end.
func (tr *trial) play() (err error) {
	tr.acked, tr.known, tr.agains = map[int64]told{}, map[string]int{}, map[string]int{}
	if tr.last, err = look(tr.dir); err != nil {
		return err
	}
	for i := range mostProcesses {
		args := tr.next()
		if args == nil {
			return tr.judge()
		}
		if tr.last.run != "" {
			tr.tally.add("processes that went on with a run")
		}
		b := tr.blows(i)
		e, err := tr.start(i, b, args)
		if err != nil {
			return err
		}
		tr.tally.slowest(e.took)
		tr.tally.started(e.first, tr.killed > 0)
		if e.cpu > startCPU {
			return fmt.Errorf("%v took %s of CPU time", args, e.cpu)
		}
		if err := tr.after(args, b, e); err != nil {
			return err
		}
	}
	return fmt.Errorf("no end after %d processes", mostProcesses)
}

// after checks what a process left, and takes in what it asked.
func (tr *trial) after(args []string, b blow, e exit) error {
	now, err := look(tr.dir)
	if err != nil {
		return err
	}
	switch {
	case e.code == -1 && b != blow{}:
		tr.killed++
		tr.tally.add("killed at " + b.kind())
		if tr.killed == 1 && tr.cut != nil {
			if now, err = tr.damage(now); err != nil {
				return err
			}
		}
	case e.code == 0:
		if b.fault != "" && !strings.HasPrefix(b.fault, "jsonl.") { // how many writes the trace takes is a matter of timing
			return fmt.Errorf("%v passed %s unharmed", args, b.fault)
		}
		if now.unfinished() {
			return fmt.Errorf("%v ended well and left its run unfinished", args)
		}
	case e.code == 3:
		if err := tr.asked(now, e.stderr); err != nil {
			return fmt.Errorf("%v: %w", args, err)
		}
	default:
		return fmt.Errorf("%v: exit code %d\n%s", args, e.code, e.stderr)
	}
	if err := errors.Join(now.follows(tr.last), now.valid(), tr.promised(now)); err != nil {
		return err
	}
	tr.last = now
	return nil
}

// promised checks what the program said against what is stored, and the calls whose outcome is known against what ran since.
func (tr *trial) promised(now *found) error {
	for seq, e := range tr.acked {
		if got, ok := now.events[seq]; !ok || !reflect.DeepEqual(got, e) {
			return fmt.Errorf("lost: event %d was acknowledged as %+v, is %+v", seq, e, got)
		}
	}
	attempts, err := tr.ledger.read("attempts")
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, d := range attempts {
		count[d.key]++
	}
	for key, n := range tr.known {
		if count[key] != n {
			return fmt.Errorf("repeated: the outcome of call %s was known after %d attempts, now there are %d", key, n, count[key])
		}
	}
	for key, c := range now.calls {
		if c.known {
			tr.known[key] = count[key]
		}
	}
	return nil
}

// asked answers what the program asks, by what is true in the world outside. It has to name each call by its id.
func (tr *trial) asked(now *found, stderr string) error {
	for id, c := range now.calls {
		if c.known || !strings.Contains(stderr, id) {
			continue
		}
		if c.status == "waiting_approval" {
			tr.tally.add("approvals given")
			tr.words = append(tr.words, "--approve="+id)
			continue
		}
		if c.effect != "side_effect" && c.status != "unknown" {
			return fmt.Errorf("call %s (%s, %s) is asked about", id, c.name, c.effect)
		}
		had, err := tr.ledger.has(id)
		if err != nil {
			return err
		}
		word := "happened"
		if !had {
			word = []string{"not", "again"}[tr.rng.IntN(2)]
		}
		if word == "again" {
			tr.agains[id]++
		}
		tr.tally.add("unknown outcomes asked about")
		tr.tally.add("  answered with " + word)
		tr.words = append(tr.words, "--outcome="+id+"="+word)
	}
	if len(tr.words) == 0 {
		return fmt.Errorf("it waits and names no call: %s", stderr)
	}
	slices.SortFunc(tr.words, strings.Compare)
	return nil
}

// judge checks the end: the run succeeded with the one right answer, and in the world outside everything is as if nothing had
// been killed.
func (tr *trial) judge() error {
	plan := crewPlans()[tr.prompt]
	closings, _ := turnsOf(tr.last.messages, false)
	if tr.last.state != "succeeded" || len(closings) != 1 || closings[0] != plan.answer() {
		return fmt.Errorf("the run is %s, answers %q, not %q", tr.last.state, closings, plan.answer())
	}
	effects, err := tr.ledger.read("effects")
	if err != nil {
		return err
	}
	attempts, err := tr.ledger.read("attempts")
	if err != nil {
		return err
	}
	byKey, byText := map[string]int{}, map[string]int{}
	for _, d := range effects {
		byKey[d.key]++
		what := d.tool + " " + d.text
		byText[what]++
		if d.tool == "sign" && !slices.Equal(tr.last.approvals[d.key], []string{"allow"}) {
			return fmt.Errorf("%s ran under the approvals %q", what, tr.last.approvals[d.key])
		}
	}
	for key, n := range byKey {
		if n > 1 && (n > 2 || !tr.forgot[key]) {
			return fmt.Errorf("repeated: call %s had its effect %d times", key, n)
		}
	}
	tried := map[string]int{}
	for _, d := range attempts {
		if tried[d.key]++; (d.tool == "fire" || d.tool == "sign") && tried[d.key] > 1+tr.agains[d.key] && !tr.forgot[d.key] {
			return fmt.Errorf("repeated: %s %s was tried %d times", d.tool, d.text, tried[d.key])
		}
	}
	for _, step := range plan {
		for _, d := range step {
			what := d.tool + " " + d.text
			switch {
			case d.tool == "peek":
			case d.tool == "note":
				if n := len(slices.DeleteFunc(slices.Clone(tr.last.todos), func(s string) bool { return s != d.text })); n != 1 {
					return fmt.Errorf("%s was done %d times", what, n)
				}
			case byText[what] == 1:
			case byText[what] > 1 && byText[what] <= 1+tr.forgotten[what]:
				tr.tally.addN("effects repeated since the disk lost their intent", byText[what]-1)
			default:
				return fmt.Errorf("%s was done %d times", what, byText[what])
			}
		}
	}
	tr.tally.addN("effects outside", len(effects))
	tr.tally.addN("calls started", len(attempts))
	tr.tally.addN("acknowledged events, all stored", len(tr.acked))
	if tr.killed > 0 {
		tr.tally.add("sessions killed and brought to the right answer")
	}
	return nil
}

// tally counts over all trials.
type tally struct {
	mu    sync.Mutex
	n     map[string]int
	worst time.Duration
	// plain are the times to the first event of processes in a new folder, after those of processes that found what a killed one left.
	plain, after []time.Duration
}

// started counts a start, of which the first event came after a while; 0 is a process that was killed before.
func (y *tally) started(first time.Duration, afterKill bool) {
	if first == 0 {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if afterKill {
		y.after = append(y.after, first)
	} else {
		y.plain = append(y.plain, first)
	}
}

// late says that starts on what killed processes left take longer than starts in a new folder do in the same run, as a rule or often.
func (y *tally) late() error {
	slices.Sort(y.plain)
	slices.Sort(y.after)
	if len(y.plain) < 5 || len(y.after) < 5 {
		return nil
	}
	plain := y.plain[len(y.plain)/2]
	if half := y.after[len(y.after)/2]; half > 2*plain+startSlack {
		return fmt.Errorf("half of the starts after a kill take %s to their first event, a plain one takes %s", half, plain)
	}
	if most := y.after[len(y.after)*9/10]; most > 4*plain+4*startSlack {
		return fmt.Errorf("a tenth of the starts after a kill take %s to their first event, a plain one takes %s", most, plain)
	}
	return nil
}

func (y *tally) add(what string) { y.addN(what, 1) }

func (y *tally) addN(what string, n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.n == nil {
		y.n = map[string]int{}
	}
	y.n[what] += n
}

func (y *tally) slowest(d time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.worst = max(y.worst, d)
}

func (y *tally) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(y.n)) {
		fmt.Fprintf(&b, "  %5d  %s\n", y.n[what], what)
	}
	if p, a := len(y.plain), len(y.after); p > 0 && a > 0 {
		fmt.Fprintf(&b, "  first event after %s in the middle of %d plain starts, %s of %d after a kill\n",
			y.plain[p/2].Round(time.Millisecond), p, y.after[a/2].Round(time.Millisecond), a)
	}
	fmt.Fprintf(&b, "  slowest process %s, from its start to its end\n", y.worst.Round(time.Millisecond))
	return b.String()
}

// matrix plays trials, some at once.
type matrix struct {
	t     *testing.T
	seed  uint64
	full  bool
	tally tally

	wg    sync.WaitGroup
	slots chan struct{}
	mu    sync.Mutex
	made  int
}

func newMatrix(t *testing.T) *matrix {
	m := &matrix{t: t, seed: rand.Uint64(), full: os.Getenv(matrixEnv) == "full", slots: make(chan struct{}, trialWorkers)}
	if s := os.Getenv(matrixSeedEnv); s != "" {
		var err error
		if m.seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.TempDir()          // its removal has to come
	t.Cleanup(m.wg.Wait) // after this
	return m
}

// trial makes one with a folder of its own, for one goroutine.
func (m *matrix) trial(prompt string, blows func(i int) blow) *trial {
	m.mu.Lock()
	m.made++
	n := m.made
	m.mu.Unlock()
	tr := &trial{dir: filepath.Join(m.t.TempDir(), "w"), prompt: prompt, blows: blows, tally: &m.tally, rng: rand.New(rand.NewPCG(m.seed, uint64(n)))}
	tr.ledger.dir = filepath.Join(filepath.Dir(tr.dir), "world")
	for _, dir := range []string{tr.dir, tr.ledger.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			m.t.Fatal(err)
		}
	}
	return tr
}

// try plays a trial in the background.
func (m *matrix) try(name string, tr *trial) {
	m.slots <- struct{}{}
	m.wg.Go(func() {
		defer func() { <-m.slots }()
		if m.t.Failed() {
			return // one story is enough
		}
		if err := tr.play(); err != nil {
			m.t.Errorf("%s of %q (seed %d): %v", name, tr.prompt, m.seed, err)
			return
		}
		if err := os.RemoveAll(filepath.Dir(tr.dir)); err != nil {
			m.t.Error(err)
		}
	})
}

// end waits for all trials and prints the counts.
func (m *matrix) end() {
	m.wg.Wait()
	if m.t.Failed() {
		return
	}
	if err := m.tally.late(); err != nil {
		m.t.Errorf("seed %d: %v", m.seed, err)
	}
	m.t.Logf("seed %d; lost 0, repeated 0, damaged 0; in numbers:\n%s", m.seed, m.tally.String())
}

// unharmed lets every process live.
func unharmed(int) blow { return blow{} }

// counted plays a turn unharmed and gives the fault points that each of its processes passes, with the number of the hit.
func (m *matrix) counted(prompt string) (points [][]string) {
	tr := m.trial(prompt, unharmed)
	tr.list = true
	if err := tr.play(); err != nil {
		m.t.Fatalf("%q unharmed: %v", prompt, err)
	}
	for i := 0; ; i++ {
		data, err := os.ReadFile(tr.points(i))
		if errors.Is(err, os.ErrNotExist) {
			return points
		}
		if err != nil {
			m.t.Fatal(err)
		}
		hits := map[string]int{}
		var names []string
		for _, name := range strings.Fields(string(data)) {
			hits[name]++
			names = append(names, fmt.Sprintf("%s:%d", name, hits[name]))
		}
		points = append(points, names)
	}
}

// some draws n of the points in the short form; the full one has all.
func (m *matrix) some(rng *rand.Rand, points []string, n int) []string {
	if n = m.amount(n, len(points)); len(points) <= n {
		return points
	}
	all := slices.Clone(points)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n]
}

// amount is how many trials of a kind there are. With -short there are few: the race detector makes each process ten times as slow.
func (m *matrix) amount(short, full int) int {
	switch {
	case m.full:
		return full
	case testing.Short():
		return max(short/4, 1)
	}
	return short
}

// The crash matrix. Tools of each effect class, and SIGKILL at every fault point and every hit of it, at random instants of
// the run and of the processes that resume it. Each time the program starts at once, the history is valid, nothing that it
// acknowledged is lost, no call whose outcome was known runs again, nothing happens twice in the world outside without the
// user's word, and the run goes on to the same answer. The short form draws some of the points.
func TestCrashMatrix(t *testing.T) {
	m := newMatrix(t)
	rng := rand.New(rand.NewPCG(m.seed, 0))
	for _, prompt := range []string{askAll, askSign} {
		points := m.counted(prompt)
		for i, of := range points {
			for _, kind := range []string{"commit.before", "commit.after", "publish.before", "publish.after", "effect.before", "effect.after", "chunk", "jsonl.before", "open.locked"} {
				if i == 0 && !slices.ContainsFunc(of, func(p string) bool { return strings.HasPrefix(p, kind+":") }) {
					t.Errorf("no point %s among %v", kind, of)
				}
			}
			for _, point := range m.some(rng, of, 16) {
				m.try(point, m.trial(prompt, func(n int) blow {
					if n == i {
						return blow{fault: point}
					}
					return blow{}
				}))
			}
		}
	}
	m.end()
}

// The same at random instants: after a random time, or when a random number of events was told. Processes that resume are
// killed too.
func TestCrashMatrixInstants(t *testing.T) {
	m := newMatrix(t)
	began := time.Now()
	m.counted(askAll)
	length := time.Since(began)
	rng := rand.New(rand.NewPCG(m.seed, 0))
	random := func(rng *rand.Rand) blow {
		if rng.IntN(2) == 0 {
			return blow{after: 1 + time.Duration(rng.Int64N(int64(length)))}
		}
		return blow{lines: 1 + rng.IntN(30)}
	}
	want := m.amount(24, 500)
	for tries := 0; m.kills() < want && tries < 4*want && !t.Failed(); tries++ {
		prompt := []string{askAll, askAll, askAll, askSign}[rng.IntN(4)]
		rng := rand.New(rand.NewPCG(m.seed, rng.Uint64()))
		m.try("instants", m.trial(prompt, func(i int) blow {
			if i == 0 || i < 5 && rng.IntN(3) == 0 {
				return random(rng)
			}
			return blow{}
		}))
	}
	m.end()
	if got := m.kills(); got < want && !t.Failed() {
		t.Errorf("%d kills, want %d", got, want)
	}
}

// kills is how many processes were killed so far.
func (m *matrix) kills() (n int) {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	for what, k := range m.tally.n {
		if strings.HasPrefix(what, "killed at ") {
			n += k
		}
	}
	return n
}
