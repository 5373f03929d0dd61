package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// Reach asks the endpoint for its list of models, as a sign of life, and says in one line what answered. Neither that nor an
// error holds the key or what a URL may hide.
func Reach(ctx context.Context, base, key string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", errors.New("the address is no URL")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("models").String(), nil)
	if err != nil {
		return "", errors.New("no request can be made of the address")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		var ue *url.Error // names the whole address; its query may hold a secret
		if errors.As(err, &ue) {
			err = ue.Err
		}
		var dial *net.OpError // names the host again
		if errors.As(err, &dial) && dial.Op == "dial" {
			err = dial.Err
		}
		return "", fmt.Errorf("%s: %w", u.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return "", fmt.Errorf("%s refused the key (HTTP %d)", u.Host, code)
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return fmt.Sprintf("%s answers, but lists no models (HTTP %d)", u.Host, code), nil
	case code >= 400:
		return "", fmt.Errorf("%s answered HTTP %d", u.Host, code)
	}
	return fmt.Sprintf("%s answers (HTTP %d)", u.Host, resp.StatusCode), nil
}
