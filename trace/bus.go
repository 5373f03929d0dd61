package trace

// Subscription is one reader of a Bus.
type Subscription struct{}
