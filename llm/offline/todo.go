package offline

import (
	"strings"
)

// The names of the tools and of the actions of todo.
const (
	toolCalculator = "calculator"
	toolSearch     = "search_mock"
	toolTodo       = "todo"

	todoAdd      = "add"
	todoList     = "list"
	todoComplete = "complete"
)

// todoStarts stand in front of what is to be added.
var todoStarts = []string{"add a new todo", "add a todo", "add one todo", "add todo", "add the todo", "add a new task", "add a task", "add task", "add a reminder", "add reminder",
	"add to my todos", "add to my todo list", "add to the todo list", "add to my list", "new todo", "new task", "create a new todo", "create a todo", "create a task", "create todo",
	"make a todo", "todo", "to-do", "to do", "note to self", "remind me to", "remind me about", "remind me that", "remind me", "set a reminder", "remember to", "don't let me forget to",
	"don't let me forget", "don't forget to", "put a todo", "i need a todo", "i have to remember to",
	"添加一个待办事项", "添加一条待办", "添加一个待办", "添加待办事项", "添加待办", "添加一个任务", "添加任务", "新增一个待办", "新增待办事项", "新增待办", "新建一个待办", "新建待办", "创建待办", "加一个待办",
	"加个待办", "加一条待办", "加入待办", "加待办", "记一个待办", "记个待办", "待办事项", "待办", "提醒我要", "提醒我", "提醒一下我", "提醒", "记得要", "别让我忘了", "别忘了要"}

// todosStarts stand in front of several, separated by commas.
var todosStarts = []string{"add these todos", "add the todos", "add todos", "add the following todos", "add tasks", "todos", "add several todos", "添加这些待办", "添加多个待办", "添加几个待办"}

var listTodos = []string{"list my todos", "list all my todos", "list all todos", "list the todos", "list todos", "list my todo list", "list my tasks", "list tasks", "list my open todos",
	"show my todos", "show me my todos", "show todos", "show the todos", "show all todos", "show my todo list", "show my tasks", "show me the todos", "what are my todos", "what are the todos",
	"what's on my todo list", "what is on my todo list", "what's on my list", "what is on my list", "what todos do i have", "what do i have to do", "what do i need to do", "which todos",
	"my todos", "my todo list", "todos", "todo list", "open todos", "do i have any todos", "have i any todos", "how many todos", "are there any todos",
	"列出所有待办", "列出我的待办", "列出待办", "列出全部待办", "显示我的待办", "显示所有待办", "显示待办", "查看我的待办", "查看所有待办", "查看待办", "看看我的待办", "看一下待办", "我的待办", "有哪些待办",
	"还有哪些待办", "待办列表", "待办清单", "我有什么待办", "我有哪些待办", "还有什么待办", "有什么待办", "待办有哪些", "列出任务", "列一下待办", "我要做什么", "我还要做什么"}

// completeStarts name the todo as such; completeVerbs may mean one.
var completeStarts = []string{"complete the todo", "complete my todo", "complete todo", "complete the task", "complete task", "finish the todo", "finish todo", "finish the task", "finish task",
	"done todo", "done with the todo", "done with todo", "close the todo", "close todo", "check off the todo", "check off todo", "check off", "tick off the todo", "tick off todo", "tick off",
	"cross off", "i finished the todo", "i completed the todo", "i have finished the todo", "i have completed the todo", "i've finished the todo", "i've completed the todo", "i did the todo",
	"完成待办事项", "完成待办", "完成任务", "勾掉待办", "勾掉", "划掉待办", "划掉", "待办完成", "已完成待办"}

var completeVerbs = []string{"complete", "finish", "done with", "done:", "完成"}

var doneEnds = []string{" as done", " as completed", " as complete", " as finished", " done", " complete", " completed", " off", "标记为完成", "标记为已完成", "标为完成", "标为已完成", "标记完成", "设为完成", "设为已完成"}

// todoRequest understands a clause about todos.
func todoRequest(c phrase) (ins []intent, ok bool) {
	c = polite(c).trimRight(".!。~")
	bare := c.trimRight("?")
	for _, l := range listTodos {
		if bare.f == l || strings.HasPrefix(bare.f, l) && listTail(bare.f[len(l):]) {
			return []intent{{kind: intentTodo, action: todoList}}, true
		}
	}
	if text, ok := completed(bare); ok {
		return []intent{{kind: intentTodo, action: todoComplete, text: text.s}}, true
	}
	if isAskedOfTodo(c) {
		return nil, false
	}
	if rest, ok := todoHead(c, todosStarts); ok {
		for _, part := range splitList(rest) {
			ins = append(ins, intent{kind: intentTodo, action: todoAdd, text: part})
		}
		return ins, len(ins) > 0
	}
	if rest, ok := todoHead(c, todoStarts); ok {
		return []intent{{kind: intentTodo, action: todoAdd, text: rest.s}}, true
	}
	if rest, ok := putOnList(c); ok {
		return []intent{{kind: intentTodo, action: todoAdd, text: rest.s}}, true
	}
	return nil, false
}

// listTail allows words behind a request to list.
func listTail(s string) bool {
	s = strings.Trim(s, " ?!.。")
	switch s {
	case "", "please", "now", "again", "for me", "i have", "do i have", "have i", "are open", "are left", "left", "事项", "列表", "清单", "有哪些", "吧", "是什么", "呢", "一下", "有什么":
		return true
	}
	return false
}

// isAskedOfTodo reports that "remind me" and the like begin a question.
func isAskedOfTodo(c phrase) bool {
	for _, w := range []string{"remind me what", "remind me when", "remind me where", "remind me who", "remind me which", "remind me how", "remind me of", "remind me about my"} {
		if _, ok := c.cut(w); ok {
			return true
		}
	}
	rest, ok := c.cutAny([]string{"提醒我", "提醒一下我", "提醒"})
	return ok && isQuestion(rest) && strings.HasSuffix(c.f, "?")
}

// todoHead cuts one of starts off; "todo" and the like by themselves need a colon.
func todoHead(c phrase, starts []string) (phrase, bool) {
	rest, ok := c.cutAny(starts)
	if !ok {
		return c, false
	}
	head, _ := c.at(len(c.f) - len(rest.f))
	colon := strings.HasPrefix(strings.TrimLeft(rest.f, " "), ":") || strings.HasPrefix(strings.TrimLeft(rest.f, " "), "-")
	switch head.f {
	case "todo", "to-do", "to do", "todos", "待办", "待办事项", "提醒":
		if !colon {
			return c, false
		}
	}
	rest = rest.trim(":,-，\"'")
	if x, ok := rest.cutAny([]string{"to", "that says", "saying", "called", "for me to", "that"}); ok && !colon {
		rest = x.trim(":,\"'")
	}
	return rest, !rest.empty()
}

// completed understands that a todo is done.
func completed(c phrase) (phrase, bool) {
	if rest, ok := c.cutAny(completeStarts); ok {
		if rest, ok := named(rest); ok {
			return rest, true
		}
	}
	for _, start := range []string{"mark the todo", "mark todo", "mark the task", "mark task", "mark", "check", "tick", "cross", "把待办", "将待办", "把", "将", "待办"} {
		rest, ok := c.cut(start)
		if !ok {
			continue
		}
		if rest, ok = rest.cutEndAny(doneEnds); ok {
			if rest, ok := named(rest); ok {
				return rest, true
			}
		}
	}
	if rest, ok := c.cutAny(completeVerbs); ok && !isQuestion(c) {
		if rest, ok := named(rest); ok {
			return rest, true
		}
	}
	return c, false
}

// named takes quotes and articles off the name of a todo.
func named(p phrase) (phrase, bool) {
	p = p.trim(":,-\"'.")
	for _, w := range []string{"the todo", "todo", "the task", "task", "待办事项", "待办"} {
		if rest, ok := p.cut(w); ok && !rest.empty() {
			p = rest.trim(":,-\"'.")
		}
	}
	return p, !p.empty()
}

// putOnList understands "put milk on my todo list" and 把牛奶加到待办.
func putOnList(c phrase) (phrase, bool) {
	for _, start := range []string{"add", "put", "把", "将"} {
		rest, ok := c.cut(start)
		if !ok {
			continue
		}
		rest, ok = rest.cutEndAny([]string{"to my todo list", "to the todo list", "to my todos", "to the todos", "to my list", "to my to-do list", "on my todo list", "on the todo list", "on my list",
			"as a todo", "加到待办清单", "加到待办列表", "加到待办里", "加到待办", "加入待办清单", "加入待办列表", "加入待办", "添加到待办清单", "添加到待办列表", "添加到待办里", "添加到待办", "放到待办里", "放进待办", "记到待办"})
		if rest = rest.trim(":,\"'"); ok && !rest.empty() {
			return rest, true
		}
	}
	return c, false
}

// splitList cuts a list at commas, semicolons and "and".
func splitList(p phrase) []string {
	var out []string
	s := p.s
	for _, sep := range []string{"，", "、", "；", ";", ", and ", " and "} {
		s = strings.ReplaceAll(s, sep, ",")
	}
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
