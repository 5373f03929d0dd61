package words

import (
	"fmt"
	"strconv"
	"time"
)

// Duration writes how long something took: 8 ms, 4.4 s, 2 m 05 s, 1 h 02 m, 3 d. Negative is 0.
func (l Lang) Duration(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 500*time.Millisecond:
		return l.T("%s ms", strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10))
	case d.Round(100*time.Millisecond) < time.Minute:
		return l.T("%s s", strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', 1, 64))
	case d.Round(time.Second) < time.Hour:
		s := int(d.Round(time.Second).Seconds())
		return l.T("%d m %s s", s/60, fmt.Sprintf("%02d", s%60))
	case d.Round(time.Minute) < 24*time.Hour:
		m := int(d.Round(time.Minute).Minutes())
		return l.T("%d h %s m", m/60, fmt.Sprintf("%02d", m%60))
	}
	return l.T("%d d", int(d/(24*time.Hour)))
}

// Ago writes how long ago something was, in one unit: now, 5 m, 2 h, 3 d, 3 w.
func (l Lang) Ago(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return l.T("now")
	case d < time.Hour:
		return l.T("%d m", int(d/time.Minute))
	case d < day:
		return l.T("%d h", int(d/time.Hour))
	case d < 14*day:
		return l.T("%d d", int(d/day))
	case d < 365*day:
		return l.T("%d w", int(d/(7*day)))
	}
	return l.T("%d y", int(d/(365*day)))
}
