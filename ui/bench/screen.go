package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/creack/pty"
)

// echo is how long a key takes to show.
type echo struct {
	Median float64 `json:"median_ms"`
	P99    float64 `json:"p99_ms"`
}

// flow is what a reply at 100 tokens a second costs.
type flow struct {
	CPU   float64 `json:"cpu_percent_of_a_core"`
	Bytes float64 `json:"kb_a_second"`
}

// screenReport is what the bench says of the screen, with trace, sidebar and store on. Times are in milliseconds.
type screenReport struct {
	IdleCPU    float64 `json:"idle_cpu_percent"`
	IdleEcho   echo    `json:"key_echo_idle"`
	StreamEcho echo    `json:"key_echo_while_streaming"`
	Request    float64 `json:"enter_to_request_ms"`
	Last5000   float64 `json:"last_of_5000_tokens_ms"`
	Last20000  float64 `json:"last_of_20000_tokens_ms"`
	Resize     float64 `json:"resize_after_20000_tokens_ms"`
	English    flow    `json:"streaming_english"`
	Chinese    flow    `json:"streaming_chinese"`
	TenTabs    flow    `json:"ten_tabs_streaming"`
	Peak       float64 `json:"rss_peak_mb"`

	OpenEmpty   float64 `json:"open_empty_session_ms"`
	OpenLong    float64 `json:"open_session_of_100000_messages_ms"`
	LongEcho    echo    `json:"key_echo_in_100000_messages"`
	LongScroll  float64 `json:"page_up_in_100000_messages_ms"`
	ClearedWith string  `json:"renderer"`
}

const (
	keys      = 200
	idleTime  = 10 * time.Second
	flowTime  = 8 * time.Second
	settle    = 700 * time.Millisecond
	quietTime = 40 * time.Millisecond
)

// screen measures how the screen feels.
func (b programs) screen(ctx context.Context, renderer string) (r screenReport, err error) {
	r.ClearedWith = renderer
	srv := newServer()
	defer srv.close()
	t, err := open(ctx, b.vitrine, filepath.Join(b.dir, "screen-"+renderer), serverEnv(srv), "--user", "bench", "--renderer", renderer)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if _, err := t.await("❯", 20*time.Second); err != nil {
		return r, err
	}
	time.Sleep(settle)
	for _, measure := range []func() error{
		func() (err error) { r.IdleEcho, err = t.echo(25 * time.Millisecond); return },
		func() (err error) { r.IdleCPU, err = t.idle(); return },
		func() (err error) { r.Request, err = t.request(srv); return },
		func() (err error) { r.Last5000, err = t.burst(srv, 5000); return },
		func() (err error) { r.English, err = t.flow("pace 950 en", 1); return },
		func() (err error) { r.StreamEcho, err = t.echoWhile("pace 1300 en"); return },
		func() (err error) { r.Chinese, err = t.flow("pace 950 zh", 1); return },
		func() (err error) { r.Last20000, err = t.burst(srv, 20000); return },
		func() (err error) { r.Resize, err = t.resize(); return },
		func() (err error) { _, r.Peak, err = resident(t.cmd.Process.Pid); return },
	} {
		if err := measure(); err != nil {
			return r, err
		}
		time.Sleep(settle)
	}
	return r, nil
}

func serverEnv(srv *server) []string {
	return []string{"OPENAI_BASE_URL=" + srv.url(), "MODEL=bench", "AGENT_MAX_CTX_TOKENS=2000000", "AGENT_MAX_RUN_TOKENS=10000000", "COLORTERM=truecolor"}
}

// echo types letters that nothing else on the screen has, one after the other, and waits for each to be written.
func (t *terminal) echo(gap time.Duration) (echo, error) {
	var took []float64
	for i := range keys {
		letter := string("QZWV"[i%4])
		t.forget()
		began := time.Now()
		if err := t.send(letter); err != nil {
			return echo{}, err
		}
		at, err := t.await(letter, 5*time.Second)
		if err != nil {
			return echo{}, err
		}
		took = append(took, float64(at.Sub(began).Microseconds())/1000)
		time.Sleep(gap)
	}
	slices.Sort(took)
	err := t.send("\x15") // the input is empty again
	time.Sleep(settle)
	return echo{Median: round(took[len(took)/2]), P99: round(took[len(took)*99/100])}, err
}

// idle is the share of a core, in percent, that the program takes when nothing happens.
func (t *terminal) idle() (float64, error) {
	before, err := cpuTime(t.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	time.Sleep(idleTime)
	after, err := cpuTime(t.cmd.Process.Pid)
	return round(100 * float64(after-before) / float64(idleTime)), err
}

// request is the median time from Enter to the request's arrival at the server; the input is stored before.
func (t *terminal) request(srv *server) (float64, error) {
	var took []float64
	for range 9 {
		t.forget()
		if err := t.send("burst 3"); err != nil {
			return 0, err
		}
		if _, err := t.await("3", 5*time.Second); err != nil {
			return 0, err
		}
		time.Sleep(settle)
		t.forget()
		began := time.Now()
		if err := t.send("\r"); err != nil {
			return 0, err
		}
		if _, err := t.await(lastWord(3), 20*time.Second); err != nil {
			return 0, err
		}
		took = append(took, float64(srv.came().Sub(began).Microseconds())/1000)
		time.Sleep(settle)
	}
	return median(took), nil
}

// burst is how long after the last of so many tokens, all sent at once, that one is on the screen.
func (t *terminal) burst(srv *server, tokens int) (float64, error) {
	t.forget()
	if err := t.send(fmt.Sprintf("burst %d\r", tokens)); err != nil {
		return 0, err
	}
	at, err := t.await(lastWord(tokens), 120*time.Second)
	return round(float64(at.Sub(srv.lastSent()).Microseconds()) / 1000), err
}

// flow streams a reply in each of so many tabs.
func (t *terminal) flow(prompt string, tabs int) (flow, error) {
	for i := range tabs {
		if tabs > 1 {
			if err := t.send(fmt.Sprintf("\x1b%d", (i+1)%10)); err != nil {
				return flow{}, err
			}
			time.Sleep(settle)
		}
		if err := t.send(prompt + "\r"); err != nil {
			return flow{}, err
		}
	}
	time.Sleep(settle)
	before, err := cpuTime(t.cmd.Process.Pid)
	if err != nil {
		return flow{}, err
	}
	from := t.written()
	time.Sleep(flowTime)
	after, err := cpuTime(t.cmd.Process.Pid)
	if err != nil {
		return flow{}, err
	}
	f := flow{CPU: round(100 * float64(after-before) / float64(flowTime)), Bytes: round(float64(t.written()-from) / 1024 / flowTime.Seconds())}
	if tabs > 1 {
		return f, nil
	}
	var n int
	if _, err := fmt.Sscanf(prompt, "pace %d", &n); err != nil {
		return f, err
	}
	t.forget()
	_, err = t.await(lastWord(n), 60*time.Second)
	return f, err
}

// echoWhile types while a reply streams.
func (t *terminal) echoWhile(prompt string) (echo, error) {
	if err := t.send(prompt + "\r"); err != nil {
		return echo{}, err
	}
	time.Sleep(settle)
	e, err := t.echo(37 * time.Millisecond)
	if err != nil {
		return e, err
	}
	err = t.send("\x03") // the rest is not needed
	time.Sleep(2 * settle)
	return e, err
}

// resize is the median time from a new size to the last byte that it leads to.
func (t *terminal) resize() (float64, error) {
	var took []float64
	for i := range 9 {
		began, from := time.Now(), t.written()
		if err := pty.Setsize(t.tty, &pty.Winsize{Rows: 40, Cols: uint16(110 + i%2*10)}); err != nil {
			return 0, fmt.Errorf("resize: %w", err)
		}
		last := t.quiet(from)
		took = append(took, float64(last.Sub(began).Microseconds())/1000)
		time.Sleep(settle)
	}
	return median(took), nil
}

// long opens a session of 100,000 messages, types and scrolls in it, and compares the start with that of an empty one.
func (b programs) long(ctx context.Context, r *screenReport, renderer string, runs int) error {
	empty, filled := filepath.Join(b.dir, "none"), filepath.Join(b.dir, "long")
	for _, d := range []string{empty, filled} {
		if _, err := b.start(ctx, b.vitrine, d); err != nil {
			return err
		}
	}
	if err := fill(ctx, filepath.Join(filled, "sessions.db"), 1, 100_000, 1); err != nil {
		return err
	}
	var short, full []float64
	for range runs {
		for _, m := range []struct {
			dir, text string
			to        *[]float64
		}{{empty, "❯", &short}, {filled, "question-49999-of-session-0", &full}} {
			t, err := open(ctx, b.vitrine, m.dir, nil, "--user", "bench", "--continue", "--renderer", renderer)
			if err != nil {
				return err
			}
			at, err := t.await(m.text, 20*time.Second)
			if err = errors.Join(err, t.close()); err != nil {
				return err
			}
			*m.to = append(*m.to, round(float64(at.Sub(t.began).Microseconds())/1000))
		}
	}
	r.OpenEmpty, r.OpenLong = median(short), median(full)
	t, err := open(ctx, b.vitrine, filled, nil, "--user", "bench", "--continue", "--renderer", renderer)
	if err != nil {
		return err
	}
	defer t.close()
	if _, err := t.await("question-49999-of-session-0", 20*time.Second); err != nil {
		return err
	}
	time.Sleep(settle)
	if r.LongEcho, err = t.echo(25 * time.Millisecond); err != nil {
		return err
	}
	var took []float64
	for range 50 {
		began, from := time.Now(), t.written()
		if err := t.send("\x1b[5~"); err != nil {
			return err
		}
		took = append(took, float64(t.quiet(from).Sub(began).Microseconds())/1000)
	}
	r.LongScroll = median(took)
	return nil
}

// tabs streams in ten tabs at once.
func (b programs) tabs(ctx context.Context, r *screenReport, renderer string) error {
	dir := filepath.Join(b.dir, "ten-"+renderer)
	if _, err := b.start(ctx, b.vitrine, dir); err != nil {
		return err
	}
	if err := fill(ctx, filepath.Join(dir, "sessions.db"), 10, 2, 10); err != nil {
		return err
	}
	srv := newServer()
	defer srv.close()
	t, err := open(ctx, b.vitrine, dir, serverEnv(srv), "--user", "bench", "--continue", "--renderer", renderer)
	if err != nil {
		return err
	}
	defer t.close()
	if _, err := t.await("❯", 20*time.Second); err != nil {
		return err
	}
	time.Sleep(settle)
	r.TenTabs, err = t.flow("pace 3000 en", 10)
	return err
}

// cpuTime is the time that all threads of a process have run.
func cpuTime(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("read the time of process %d: %w", pid, errors.Join(err, os.ErrNotExist))
	}
	var total time.Duration
	for _, f := range files {
		data, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) {
			continue // the thread has ended
		}
		if err != nil {
			return 0, fmt.Errorf("read the time of process %d: %w", pid, err)
		}
		ns, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the time of process %d: %w", pid, err)
		}
		total += time.Duration(ns)
	}
	return total, nil
}
