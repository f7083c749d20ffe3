-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Tidemark authors
-- Questions a page asks, in turn; the windows differ, so that most answers have to be made.
local id = os.getenv("TIDE_ID")
local span = tonumber(os.getenv("TIDE_END"))
local n = 0
function request()
  n = n + 1
  local kind = n % 5
  local from = math.floor((n * 7919 % 1000) / 1000 * span * 0.9)
  local to = from + math.floor(span / 10)
  if kind == 0 then return wrk.format("GET", "/api/recordings") end
  if kind == 1 then return wrk.format("GET", "/data/" .. id .. "/pieces?px=1200&from=" .. from .. "&to=" .. to) end
  if kind == 2 then return wrk.format("GET", "/api/recordings/" .. id .. "/curve?px=200&from=" .. from .. "&to=" .. to) end
  if kind == 3 then return wrk.format("GET", "/data/" .. id .. "/main") end
  return wrk.format("GET", "/api/profiler/hta")
end
