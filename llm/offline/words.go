package offline

// The tables of words. All are folded: lower case, half width, simplified. A longer entry stands in front of one that is its
// beginning. The sets are immutable.
var (
	politeStarts = []string{"please", "pls", "could you please", "can you please", "could you", "can you", "would you", "will you",
		"i would like you to", "i'd like you to", "i want you to", "hey", "ok", "okay", "well,", "now,", "also", "then", "and then", "and",
		"so", "but", "plus,", "finally,", "first,", "next,", "actually", "by the way", "btw", "fyi", "for the record", "correction:",
		"correction,", "update:", "no,", "yes,", "sorry,", "kindly", "i want to know", "i'd like to know", "i would like to know", "i wonder",
		"let me know", "let me tell you something", "let me tell you that", "let me tell you", "i tell you that", "i tell you", "忘了说", "我告诉你", "跟你说",
		"麻烦你", "麻烦您", "麻烦", "请你", "请您", "请帮我", "请问", "请", "能不能帮我", "能帮我", "可以帮我", "帮我", "帮忙", "那么", "然后", "另外", "还有",
		"顺便", "接着", "并且", "同时", "最后", "首先", "对了", "更正", "好的", "其实", "我想知道", "想知道", "我想问一下", "我想问"}

	connectors = []string{", and then ", ", and also ", ", and ", ", then ", ", also ", " and then ", " and also ", " and ", " then ",
		", ", ",", "、", "并且", "然后", "同时", "接着", "再", "并", "和"}

	// strongStarts begin a request of their own wherever they stand behind a connector.
	strongStarts = []string{"add a todo", "add todo", "add a task", "add task", "add a new todo", "add a reminder", "todo:", "new todo", "create a todo",
		"create todo", "remind me", "list my", "list the", "list all", "list todos", "show my", "show me my", "show the todos", "show todos",
		"complete todo", "complete the todo", "complete task", "finish todo", "finish the todo", "mark", "check off", "tick off",
		"search for", "search", "look up", "lookup", "calculate", "compute", "evaluate", "remember that", "remember:", "remember",
		"what is", "what's", "what are", "what did", "what do", "when is", "when does", "where is", "who is", "how much is", "how many",
		"tell me", "explain", "note that",
		"添加", "新增", "新建", "加一个待办", "加个待办", "加待办", "提醒我", "待办:", "列出", "显示", "查看", "完成待办", "完成任务", "查一下", "查询", "查找", "搜索", "搜一下",
		"计算", "算一下", "算算", "记住", "请记住", "记一下", "告诉我", "什么是", "解释"}

	// determiners begin a statement about something of its own.
	determiners = []string{"the", "my", "our", "his", "her", "their", "its", "your", "i am", "i'm", "i", "we", "我叫", "我的", "我是", "我在", "我们", "我"}

	rememberStarts = []string{"remember that", "remember this", "remember", "please remember", "keep in mind that", "keep in mind", "note that", "note this",
		"note down that", "note down", "note", "make a note that", "make a note", "don't forget that", "do not forget that", "don't forget",
		"memorize that", "memorize", "memorise", "save this", "for your information", "let it be known that",
		"请记住", "请记得", "请记下", "请记一下", "请你记住", "帮我记住", "帮我记一下", "记住了", "记住", "记得", "记一下", "记下来", "记下", "记着", "别忘了", "不要忘了", "不要忘记", "备注"}

	questionStarts = []string{"what", "what's", "when", "when's", "where", "where's", "who", "who's", "whom", "whose", "which", "why", "how",
		"is", "are", "was", "were", "do", "does", "did", "has", "have", "am", "tell me", "remind me what", "remind me when", "remind me who",
		"remind me where", "remind me which", "remind me how", "remind me of", "can i", "could i", "should i", "may i",
		"recall", "give me", "in what", "in which", "on what", "on which", "at what", "at which", "for whom", "to whom", "by when", "since when",
		"i forgot", "i have forgotten", "i've forgotten", "i don't remember", "i do not remember", "i can't remember", "i cannot remember",
		"我忘了", "我忘记了", "我忘记", "我不记得", "告诉我", "说说", "你记得", "你还记得", "还记得", "你知道", "知道"}

	zhQuestionWords = []string{"什么", "谁", "哪里", "哪儿", "哪个", "哪些", "哪天", "哪位", "哪年", "哪月", "哪种", "哪家", "哪座", "哪一", "哪国", "多少", "怎么", "怎样",
		"为何", "何时", "何地", "何处", "何人", "是否", "是不是", "有没有", "多大", "多久", "多长", "多高", "多远"}
	zhQuestionEnds = []string{"吗", "呢", "么", "哪"}

	abbreviations = map[string]bool{"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "no": true, "vs": true, "e.g": true, "i.e": true,
		"etc": true, "jr": true, "sr": true, "inc": true, "ltd": true, "approx": true, "dept": true, "capt": true, "gen": true, "sgt": true}

	// enMarks are words that show English without being stop words.
	enMarks = set("please", "remember", "search", "add", "calculate", "compute", "list", "show", "write", "hello", "hi", "help", "thanks", "name",
		"look", "find", "remind", "complete", "plus", "minus", "times", "divided")

	// enStop are words that say nothing of what a question is about.
	enStop = set("a", "an", "the", "of", "to", "for", "in", "on", "at", "by", "with", "from", "and", "or", "is", "are", "was", "were", "be", "been",
		"am", "do", "does", "did", "has", "have", "had", "will", "would", "can", "could", "may", "might", "shall", "should", "must", "it", "its", "this",
		"that", "these", "those", "there", "here", "what", "when", "where", "who", "whom", "whose", "which", "why", "how", "you", "your", "yours",
		"please", "tell", "told", "say", "said", "know", "remember", "recall", "remind", "again", "about", "any", "some", "so", "then", "now", "ok",
		"just", "also", "still", "exactly", "let", "get", "got", "give", "gave", "as", "if", "not", "no", "yes", "but", "earlier", "before", "mention",
		"mentioned", "forget", "forgot", "forgotten", "don't", "can't", "cannot", "thing", "anything", "everything", "something", "currently", "actually", "again", "into", "than", "much", "many")

	// modals are stop words that behind an article are none.
	modals   = set("will", "may", "might", "must", "can", "thing", "order", "say", "know")
	articles = set("the", "a", "an", "my", "our", "your", "his", "her", "their")

	// meWords and weWords stand for the speaker.
	meWords = set("i", "me", "my", "mine", "myself", "i'm", "i've", "i'd", "i'll", "user", "user's")
	weWords = set("we", "our", "ours", "us", "we're", "we've", "we'll")

	// zhStop are function words; they end a segment. The longest that fits is taken.
	zhStop = set("忘了", "忘记了", "忘记", "不记得", "什么时候", "什么时间", "什么地方", "什么日子", "什么样", "什么", "为什么", "怎么样", "怎么", "怎样", "哪里", "哪儿", "哪个", "哪些", "哪天", "哪位",
		"哪一天", "哪一个", "哪", "谁", "几点", "几号", "周几", "星期几", "礼拜几", "几月", "几", "多少", "何时", "何地", "何处", "吗", "呢", "吧", "啊", "呀", "请问", "请",
		"告诉过", "告诉", "知道", "还记得", "记得", "记住", "说过", "说", "提到过", "提到", "提过", "关于", "有关", "你", "您", "了", "是", "在", "来着", "到底", "究竟",
		"一下", "事情", "事儿", "信息", "情况", "是否", "能不能", "定在", "定于", "安排在", "位于", "改到", "改成", "改为", "推迟到", "提前到", "换成", "变成", "挪到", "叫做",
		"现在", "目前", "还是", "就是", "应该", "已经", "之前", "刚才", "曾经", "这个", "那个", "一个", "和", "与", "我说", "帮我")
	zhLight = set("会", "要", "有", "到", "个", "这", "那", "还", "能", "想", "就", "也", "都", "为", "于", "过", "把", "给", "对", "从", "被", "很", "不", "没")

	// kinds of answers that a word asks for.
	kindOf = map[string]answerKind{"when": kindTime, "day": kindTime, "date": kindTime, "time": kindTime, "hour": kindTime, "month": kindTime, "year": kindTime,
		"week": kindTime, "weekday": kindTime, "deadline": kindTime, "where": kindPlace, "place": kindPlace, "location": kindPlace, "city": kindPlace,
		"country": kindPlace, "room": kindPlace, "town": kindPlace, "who": kindPerson, "whom": kindPerson, "whose": kindPerson, "person": kindPerson,
		"什么时候": kindTime, "什么时间": kindTime, "什么日子": kindTime, "哪天": kindTime, "哪一天": kindTime, "几点": kindTime, "几号": kindTime, "周几": kindTime, "星期几": kindTime,
		"礼拜几": kindTime, "几月": kindTime, "何时": kindTime, "日期": kindTime, "时间": kindTime, "日子": kindTime, "哪里": kindPlace, "哪儿": kindPlace, "什么地方": kindPlace,
		"何地": kindPlace, "何处": kindPlace, "地点": kindPlace, "位置": kindPlace, "城市": kindPlace, "谁": kindPerson, "哪位": kindPerson, "人": kindPerson}

	// optional words may stand in a question without standing in what was told.
	optional = set("day", "date", "time", "hour", "month", "year", "week", "weekday", "place", "location", "city", "country", "room", "town", "person",
		"number", "value", "amount", "kind", "type", "sort", "colour", "color", "happen", "take", "scheduled", "schedule", "planned", "due", "located",
		"called", "named", "set", "start", "begin", "supposed", "long", "old", "far", "日期", "时间", "日子", "地点", "位置", "城市", "数量", "颜色", "开始", "举行", "进行", "人")

	// compound are optional words that another noun in front makes part of a name: a meeting room is no meeting.
	compound = set("place", "location", "city", "country", "room", "town", "person", "number", "value", "amount", "kind", "type", "sort", "colour", "color", "城市", "数量", "颜色", "人")

	timeWords = set("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march", "april", "may", "june",
		"july", "august", "september", "october", "november", "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
		"mon", "tue", "wed", "thu", "fri", "sat", "sun", "today", "tomorrow", "tonight", "yesterday", "morning", "noon", "afternoon", "evening", "night",
		"midnight", "week", "month", "year", "day", "hour", "minute", "weekend", "quarter", "summer", "winter", "spring", "autumn", "fall", "christmas",
		"easter", "lunch", "dinner", "breakfast", "am", "pm", "o'clock", "daily", "weekly", "monthly", "soon", "later")
	zhTimeMarks = []string{"周", "星期", "礼拜", "月", "日", "号", "点", "天", "年", "早", "晚", "午", "节", "季", "时", "分", "春", "夏", "秋", "冬"}
)

// set makes a set of words. It is called for tables only.
func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
