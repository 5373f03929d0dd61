package openai

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxWait bounds what a server may ask for, so that no arithmetic overflows.
const maxWait = 365 * 24 * time.Hour

// retryAfter reads how long a server wants to be left alone: Retry-After in both forms, and in the ones that some servers make up
// (a unit behind the number, a time as in JSON). A date is compared with the server's own clock when it tells it. What lies in the
// past or makes no sense is 0.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return boundWait(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, ok := seconds(v); ok {
		return boundWait(s)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		if at, err = time.Parse(time.RFC3339, v); err != nil {
			return 0
		}
	}
	if served, err := http.ParseTime(h.Get("Date")); err == nil {
		now = served
	}
	return boundWait(at.Sub(now).Seconds())
}

// wait notes how long the server wants to be left alone. What it says of that itself comes before what it says of its limits.
func (f *fault) wait(status int, h http.Header, now time.Time) {
	if after := retryAfter(h, now); after > 0 {
		f.after = after
	}
	if status == http.StatusTooManyRequests && f.after == 0 && waitInText(f.message) == 0 {
		f.after = max(resetAfter(h, now), resetAfter(f.header, now))
	}
}

// seconds reads a number of seconds, or a duration such as 6m0s.
func seconds(v string) (float64, bool) {
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return s, true
	}
	d, err := time.ParseDuration(v)
	return d.Seconds(), err == nil
}

// The numbers from which on a reset is no wait but a time, in seconds and in milliseconds since 1970.
const (
	epochSeconds = 1e9
	epochMillis  = 1e12
)

// resetAfter reads when limits that are used up begin anew: what OpenRouter, OpenAI and the gateways that follow a draft of the IETF say
// in the place of Retry-After. Of a limit of which something remains nothing is read, since it is not the one that was met.
func resetAfter(h http.Header, now time.Time) (longest time.Duration) {
	for _, prefix := range []string{"X-Ratelimit-", "Ratelimit-"} {
		for _, of := range []string{"", "-Requests", "-Tokens"} {
			if left := strings.TrimSpace(h.Get(prefix + "Remaining" + of)); left != "0" {
				continue
			}
			v := strings.TrimSpace(h.Get(prefix + "Reset" + of))
			s, ok := seconds(v)
			switch {
			case !ok:
				if at, err := time.Parse(time.RFC3339, v); err == nil {
					s = at.Sub(now).Seconds()
				}
			case s >= epochMillis:
				s = s/1000 - float64(now.UnixMilli())/1000
			case s >= epochSeconds:
				s -= float64(now.UnixMilli()) / 1000
			}
			longest = max(longest, boundWait(s))
		}
	}
	return longest
}

func boundWait(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	if seconds > maxWait.Seconds() {
		return maxWait
	}
	return time.Duration(seconds * float64(time.Second))
}

var waits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:try again|retry|resets?|available again)\s+(?:in|after)\s+((?:\d+(?:\.\d+)?\s*(?:ms|[dhms])[a-z]*[\s,]*)+)`)
})

var units = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*(ms|[dhms])`)
})

// waitInText finds a wait that the message tells, such as "try again in 1m30.5s".
func waitInText(s string) time.Duration {
	m := waits().FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	var seconds float64
	for _, u := range units().FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.ParseFloat(u[1], 64)
		if err != nil {
			continue
		}
		seconds += n * map[string]float64{"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[strings.ToLower(u[2])]
	}
	return boundWait(seconds)
}
