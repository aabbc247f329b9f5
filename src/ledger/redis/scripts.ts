/**
 * The Lua scripts that Redis runs, each atomically. An account is one hash, so each script uses one key and Redis
 * evicts an account as a whole:
 *
 * - `rate<owner>`: backlogs of requests and tokens per minute in milliseconds, and when they were last drained.
 * - `running<owner>`: the number of running calls. `sweepAt`: when expired leases are removed next.
 * - `call <call id>`: a running call: the end of its lease, the day of its free quota (-1: none), the tokens it holds
 *   of that quota, and its owners other than the account.
 * - `day`, `used`, `held`: the free quota; `loadedAt`: when `used` was read from SQL.
 *
 * An owner of limits is the account (an empty text), one of its keys, or a model of either. The text of a key or model
 * begins with a space and has no other space, so the owners of a call are written one after the other.
 *
 * All nodes share the clock of Redis, unless the first argument is a time.
 */
const common = `
local account, minute, tolerance, keptMs = KEYS[1], 60000, 0.001, 172800000
local time = redis.call('TIME')
local now = tonumber(ARGV[1]) or tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function whole(number) return string.format('%.0f', number) end
local function exact(number) return string.format('%.17g', number) end
local function get(field) return redis.call('HGET', account, field) end
local function set(field, value) redis.call('HSET', account, field, value) end
local function drop(field) redis.call('HDEL', account, field) end
local function add(field, number)
  if tonumber(number) ~= 0 then redis.call('HINCRBY', account, field, whole(number)) end
end

local function setBacklogs(owner, requests, tokens)
  set('rate' .. owner, exact(requests) .. ' ' .. exact(tokens) .. ' ' .. whole(now))
end

-- When the clock steps back, nothing drains, and draining continues from the new time.
local function backlogs(owner)
  local requests, tokens, drainedAt = string.match(get('rate' .. owner) or '0 0 0', '^(%S+) (%S+) (%S+)$')
  local elapsed = now - drainedAt
  if elapsed < 0 then setBacklogs(owner, requests, tokens) end
  return math.max(0, requests - math.max(0, elapsed)), math.max(0, tokens - math.max(0, elapsed))
end

-- Without limits there is nothing to add to.
local function addBacklogs(owner, moreRequests, moreTokens)
  if not moreRequests and not moreTokens then return '0', '0' end
  local requests, tokens = backlogs(owner)
  requests, tokens = math.max(0, requests + (moreRequests or 0)), math.max(0, tokens + (moreTokens or 0))
  setBacklogs(owner, requests, tokens)
  return exact(requests), exact(tokens)
end

local function parseCall(text)
  return string.match(text or '', '^(%S+) (%S+) (%S+)(.*)$')
end

local function setCall(id, deadline, day, tokens, owners)
  set('call ' .. id, deadline .. ' ' .. day .. ' ' .. tokens .. owners)
end

local function addRunning(owners, number)
  add('running', number)
  for owner in string.gmatch(owners, ' %S+') do add('running' .. owner, number) end
end

local function addCall(id, deadline, day, tokens, owners)
  setCall(id, deadline, day, tokens, owners)
  addRunning(owners, 1)
  if day == get('day') then add('held', tokens) end
end

local function removeCall(id)
  local deadline, day, tokens, owners = parseCall(get('call ' .. id))
  if not deadline then return false end
  drop('call ' .. id)
  addRunning(owners, -1)
  if day == get('day') then add('held', -tokens) end
  return true
end
`;

/**
 * Admits a call or returns the limit that refuses it. Arguments: time, call id, lease in milliseconds; the maximum and
 * minimum number of tokens requested of the free quota, and its limit; the latest day with quota used according to SQL,
 * and the tokens used on it; then for each owner, in the order of checking: its text, the amounts that the request and
 * its tokens add to its backlogs, and its limit of concurrent calls. Missing values are empty. Returns `load` when it
 * needs the day and its tokens from SQL, the place of the owner with a refusal, and otherwise the backlogs of each
 * owner.
 */
export const admitScript = `${common}
local callId, leaseMs = ARGV[2], tonumber(ARGV[3])

-- Removes calls with an expired lease and counts the others again.
local function sweep()
  local fields, running, held, today = redis.call('HGETALL', account), {}, 0, get('day')
  for at = 1, #fields, 2 do
    local field, value = fields[at], fields[at + 1]
    if string.find(field, '^call ') then
      local deadline, day, tokens, owners = parseCall(value)
      if tonumber(deadline) <= now then
        drop(field)
      else
        running[''] = (running[''] or 0) + 1
        for owner in string.gmatch(owners, ' %S+') do running[owner] = (running[owner] or 0) + 1 end
        if day == today then held = held + tokens end
      end
    elseif string.find(field, '^running') then
      drop(field)
    elseif string.find(field, '^rate ') then
      local requests, tokens = backlogs(string.sub(field, 5))
      if requests + tokens == 0 then drop(field) end
    end
  end
  for owner, count in pairs(running) do set('running' .. owner, whole(count)) end
  set('held', whole(held))
  set('sweepAt', whole(now + leaseMs / 3))
  redis.call('PEXPIRE', account, keptMs)
end

local function findRefusal(place, owner, request, tokens, callsMax)
  local usedRequests, usedTokens = backlogs(owner)
  local wait = request and usedRequests + request - minute or 0
  if wait > tolerance then return { 'requests', place, exact(wait) } end
  wait = tokens and usedTokens + math.min(tokens, minute) - minute or 0
  if wait > tolerance then return { 'tokens', place, exact(wait) } end
  if callsMax and tonumber(get('running' .. owner) or 0) >= callsMax then return { 'calls', place } end
end

local sweepWait = tonumber(get('sweepAt') or 0) - now
if sweepWait <= 0 or sweepWait > leaseMs then sweep() end
for at = 9, #ARGV, 4 do
  local request, tokens, callsMax = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local refusal = findRefusal(whole((at - 9) / 4), ARGV[at], request, tokens, callsMax)
  if refusal then return refusal end
end

local requested, least, limit = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local loadedDay = tonumber(ARGV[7])
local day, hold, available = '-1', 0, 0
if requested then
  local known = redis.call('HMGET', account, 'day', 'used', 'loadedAt')
  -- The day never goes back by a day, so that a clock that does grants no quota twice. Further ahead, a clock was wrong.
  local today, knownDay = math.floor(now / 86400000), tonumber(known[1] or 0)
  if knownDay > today + 1 then knownDay = 0 end
  local ofDay = math.max(today, knownDay, loadedDay or 0)
  day = whole(ofDay)
  if not (known[1] == day and known[2] and now - known[3] < minute) then
    if not loadedDay then return { 'load' } end
    redis.call('HSET', account, 'day', day, 'used', loadedDay == ofDay and ARGV[8] or '0', 'loadedAt', whole(now))
    if known[1] ~= day then sweep() end
  end
  local used, held = tonumber(get('used')), tonumber(get('held') or 0)
  available = limit - used - held
  hold = math.min(available, requested)
  if available <= 0 or hold < least then return { 'quota', whole(used), whole(held), day } end
end

local answer, owners = { 'ok', whole(hold), day, whole(available) }, ''
for at = 9, #ARGV, 4 do
  local requests, tokens = addBacklogs(ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
  table.insert(answer, requests)
  table.insert(answer, tokens)
  owners = owners .. ARGV[at]
end
addCall(callId, whole(now + leaseMs), day, whole(hold), owners)
return answer
`;

/**
 * Counts more tokens of a running call and raises its hold on the free quota. Arguments: time, call id; the maximum and
 * minimum number of tokens that the call is to hold in total and the limit, empty for a premium call; then for each
 * owner its text and the amount added to its backlog of tokens. Returns `unknown` when Redis cannot decide: it has lost
 * the call, or nothing was drawn on the day that has begun since.
 */
export const extendScript = `${common}
local requested, least, limit = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local deadline, ofDay, tokens, owners = parseCall(get('call ' .. ARGV[2]))
local hold, day = 0, get('day')
if requested then
  local used = tonumber(get('used'))
  local today = math.floor(now / 86400000)
  if not deadline or not day or not used or tonumber(day) < today or tonumber(day) > today + 1 then return { 'unknown' } end
  local own = ofDay == day and tonumber(tokens) or 0
  local held = tonumber(get('held') or 0) - own
  hold = math.min(limit - used - held, requested)
  if hold <= 0 or hold < least then return { 'quota', whole(used), whole(held), day } end
  setCall(ARGV[2], deadline, day, whole(hold), owners)
  add('held', hold - own)
end
for at = 6, #ARGV, 2 do addBacklogs(ARGV[at], nil, tonumber(ARGV[at + 1])) end
return { 'ok', whole(hold), day or '-1' }
`;

/**
 * Removes a call whose end is written in SQL. Arguments: time, call id, the day of its free quota and the tokens used;
 * then for each owner its text and the amounts added to its backlogs, empty without limits. For a call that Redis does
 * not have, the loaded sum may or may not include its tokens, so the sum is loaded again.
 */
export const settleScript = `${common}
local isKnown = removeCall(ARGV[2])
if ARGV[4] ~= '0' and ARGV[3] == get('day') then
  if isKnown and get('used') then add('used', ARGV[4]) else drop('used') end
end
for at = 5, #ARGV, 3 do
  local requests, tokens = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  if (requests or 0) ~= 0 or (tokens or 0) ~= 0 then addBacklogs(ARGV[at], requests, tokens) end
end
redis.call('PEXPIRE', account, keptMs)
return { 'ok' }
`;

/**
 * Renews the leases of running calls of an account, and restores calls that Redis has lost. Arguments: time, lease in
 * milliseconds, then for each call its id, the day of its free quota, the tokens held, and its owners other than the
 * account.
 */
export const renewScript = `${common}
local deadline = whole(now + tonumber(ARGV[2]))
for at = 3, #ARGV, 4 do
  removeCall(ARGV[at])
  addCall(ARGV[at], deadline, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end
redis.call('PEXPIRE', account, keptMs)
return { 'ok' }
`;

/**
 * Checks that this Redis belongs to modelgate, and that it accepts writes. Key: where the format is stored. Argument:
 * the expected format. Returns the format found.
 */
export const formatScript = `
local kind = redis.call('TYPE', KEYS[1]).ok
local found = kind == 'string' and redis.call('GET', KEYS[1]) or kind
if found ~= 'none' and found ~= ARGV[1] then return found end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
`;
