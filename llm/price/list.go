package price

type entry struct {
	host, model           string
	input, cached, output float64 // US dollars for a million tokens
	asOf                  string
}

// The endpoints of the table.
const (
	openAI   = "api.openai.com"
	deepSeek = "api.deepseek.com"
	mistral  = "api.mistral.ai"
	gemini   = "generativelanguage.googleapis.com"
	moonshot = "api.moonshot.ai"
)

// list are list prices without discounts for batches, times of day or regions, and without the dearer tiers that some have for very
// long prompts. Prices change: what matters to somebody belongs into the configuration.
func list() []entry {
	return []entry{
		{openAI, "gpt-5", 1.25, 0.125, 10, "2025-12"},
		{openAI, "gpt-5-mini", 0.25, 0.025, 2, "2025-12"},
		{openAI, "gpt-5-nano", 0.05, 0.005, 0.40, "2025-12"},
		{openAI, "gpt-4.1", 2, 0.50, 8, "2025-12"},
		{openAI, "gpt-4.1-mini", 0.40, 0.10, 1.60, "2025-12"},
		{openAI, "gpt-4.1-nano", 0.10, 0.025, 0.40, "2025-12"},
		{openAI, "gpt-4o", 2.50, 1.25, 10, "2025-12"},
		{openAI, "gpt-4o-mini", 0.15, 0.075, 0.60, "2025-12"},
		{openAI, "o3", 2, 0.50, 8, "2025-12"},
		{openAI, "o3-mini", 1.10, 0.55, 4.40, "2025-12"},
		{openAI, "o4-mini", 1.10, 0.275, 4.40, "2025-12"},
		{deepSeek, "deepseek-chat", 0.28, 0.028, 0.42, "2025-12"},
		{deepSeek, "deepseek-reasoner", 0.28, 0.028, 0.42, "2025-12"},
		{mistral, "mistral-large", 2, 2, 6, "2025-08"},
		{mistral, "mistral-medium", 0.40, 0.40, 2, "2025-08"},
		{mistral, "mistral-small", 0.10, 0.10, 0.30, "2025-08"},
		{mistral, "codestral", 0.30, 0.30, 0.90, "2025-08"},
		{gemini, "gemini-2.5-pro", 1.25, 0.125, 10, "2025-12"},
		{gemini, "gemini-2.5-flash", 0.30, 0.03, 2.50, "2025-12"},
		{gemini, "gemini-2.5-flash-lite", 0.10, 0.01, 0.40, "2025-12"},
		{moonshot, "kimi-k2-0905-preview", 0.60, 0.15, 2.50, "2025-10"},
		{moonshot, "kimi-k2-turbo-preview", 1.15, 0.15, 8, "2025-12"},
	}
}
