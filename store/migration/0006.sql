-- Models of servers on this machine were called ollama/x, whatever endpoint there was, and are called local:ollama/x now, since
-- endpoints have models of such names too. What was kept on this machine stays there: names of before are written anew, unless an
-- answer in their session came from a model of that very name, which servers here, asked for x, do not have.

CREATE TEMP TABLE moved AS
SELECT s.id, s.num, m.model FROM sessions s JOIN (
  SELECT id AS session, model FROM sessions
  UNION SELECT session_id, CASE WHEN json_valid(versions) THEN json_extract(versions, '$.Model') END FROM runs WHERE finished_at IS NULL
) m ON m.session = s.id
WHERE (m.model GLOB 'ollama/?*' OR m.model GLOB 'llama.cpp/?*' OR m.model GLOB 'lmstudio/?*') AND NOT EXISTS (
  SELECT 1 FROM events e WHERE e.key BETWEEN s.num << 32 AND s.num << 32 | 4294967295 AND e.name = 'llm_call' AND CASE WHEN json_valid(e.data) THEN
    json_extract(e.data, '$.model') = m.model AND coalesce(json_extract(e.data, '$.error'), '') = ''
    AND coalesce(json_extract(e.data, '$.finish_reason'), '') NOT IN ('', 'cancelled') END);
UPDATE sessions SET model = 'local:' || model WHERE EXISTS (SELECT 1 FROM moved WHERE moved.id = sessions.id AND moved.model = sessions.model);
UPDATE runs SET versions = json_set(versions, '$.Model', 'local:' || json_extract(versions, '$.Model'))
WHERE finished_at IS NULL AND json_valid(versions) AND EXISTS (
  SELECT 1 FROM moved WHERE moved.id = runs.session_id AND moved.model = json_extract(runs.versions, '$.Model'));
DROP TABLE moved;
