/**
 * The Lua scripts that Redis runs, each atomically. An account is one hash, so that a script has one key and Redis
 * evicts an account as a whole:
 *
 * - `rate`, `rate <key id>`: backlogs of requests and tokens per minute in milliseconds, and when they were last drained.
 * - `call <call id>`: a running call: the end of its lease, its key, the day of its free quota (-1: none), and the tokens
 *   it holds of that quota.
 * - `running`, `running <key id>`: the number of running calls. `sweepAt`: when expired leases are removed next.
 * - `day`, `used`, `held`: the free quota; `loadedAt`: when `used` was read from SQL.
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

local function addBacklogs(owner, moreRequests, moreTokens)
  local requests, tokens = backlogs(owner)
  requests, tokens = math.max(0, requests + (moreRequests or 0)), math.max(0, tokens + (moreTokens or 0))
  setBacklogs(owner, requests, tokens)
  return exact(requests), exact(tokens)
end

local function readCall(id)
  return string.match(get('call ' .. id) or '', '^(%S+) (%S+) (%S+) (%S+)$')
end

local function addCall(id, deadline, keyId, day, tokens)
  set('call ' .. id, table.concat({ deadline, keyId, day, tokens }, ' '))
  add('running', 1)
  add('running ' .. keyId, 1)
  if day == get('day') then add('held', tokens) end
end

local function removeCall(id)
  local deadline, keyId, day, tokens = readCall(id)
  if not deadline then return false end
  drop('call ' .. id)
  add('running', -1)
  add('running ' .. keyId, -1)
  if day == get('day') then add('held', -tokens) end
  return true
end
`;

/**
 * Admits a call or returns the limit that refuses it. Arguments: time, call id, lease in milliseconds, key id; what the
 * request and its tokens add to the backlogs of the account, and its limit of concurrent calls; the same three of the
 * key; the most and the least tokens requested of the free quota and its limit; the latest day with quota used according
 * to SQL, and the tokens used on it. Missing values are empty. Returns `load` when it needs the last two.
 */
export const admitScript = `${common}
local callId, leaseMs, keyId = ARGV[2], tonumber(ARGV[3]), ARGV[4]
local keyOwner = ' ' .. keyId

-- Removes calls with an expired lease and counts the others again.
local function sweep()
  local fields, running, held, today = redis.call('HGETALL', account), {}, 0, get('day')
  for at = 1, #fields, 2 do
    local field, value = fields[at], fields[at + 1]
    if string.find(field, '^call ') then
      local deadline, ofKey, day, tokens = string.match(value, '^(%S+) (%S+) (%S+) (%S+)')
      if tonumber(deadline) <= now then
        drop(field)
      else
        for _, owner in ipairs({ '', ' ' .. ofKey }) do running[owner] = (running[owner] or 0) + 1 end
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

local function findRefusal(name, owner, request, tokens, callsMax)
  local usedRequests, usedTokens = backlogs(owner)
  local wait = request and usedRequests + request - minute or 0
  if wait > tolerance then return { 'requests', name, exact(wait) } end
  wait = tokens and usedTokens + math.min(tokens, minute) - minute or 0
  if wait > tolerance then return { 'tokens', name, exact(wait) } end
  if callsMax and tonumber(get('running' .. owner) or 0) >= callsMax then return { 'calls', name } end
end

local sweepWait = tonumber(get('sweepAt') or 0) - now
if sweepWait <= 0 or sweepWait > leaseMs then sweep() end
local request, tokens, callsMax = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local keyRequest, keyTokens, keyCallsMax = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local refusal = findRefusal('key', keyOwner, keyRequest, keyTokens, keyCallsMax)
  or findRefusal('account', '', request, tokens, callsMax)
if refusal then return refusal end

local requested, least, limit = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local loadedDay = tonumber(ARGV[14])
local day, hold, available = '-1', 0, 0
if requested then
  local known = redis.call('HMGET', account, 'day', 'used', 'loadedAt')
  -- The day never goes back, so that a clock that does grants no quota twice.
  local ofDay = math.max(math.floor(now / 86400000), tonumber(known[1] or 0), loadedDay or 0)
  day = whole(ofDay)
  if not (known[1] == day and known[2] and now - known[3] < minute) then
    if not loadedDay then return { 'load' } end
    redis.call('HSET', account, 'day', day, 'used', loadedDay == ofDay and ARGV[15] or '0', 'loadedAt', whole(now))
    if known[1] ~= day then sweep() end
  end
  local used, held = tonumber(get('used')), tonumber(get('held') or 0)
  available = limit - used - held
  hold = math.min(available, requested)
  if available <= 0 or hold < least then return { 'quota', whole(used), whole(held), day } end
end

local accountRequests, accountTokens = addBacklogs('', request, tokens)
local answer = { 'ok', whole(hold), day, whole(available), accountRequests, accountTokens }
if keyRequest or keyTokens then
  answer[7], answer[8] = addBacklogs(keyOwner, keyRequest, keyTokens)
end
addCall(callId, whole(now + leaseMs), keyId, day, whole(hold))
return answer
`;

/**
 * Counts more tokens of a running call and raises its hold on the free quota. Arguments: time, call id; what is added to
 * the backlog of tokens of the account; the key's id and what is added to its backlog; the most and the least tokens that
 * the call is to hold in all and the limit, empty for a premium call. Returns `unknown` when Redis knows too little to
 * decide: the call is lost, or nothing was drawn on the day that has begun since.
 */
export const extendScript = `${common}
local moreTokens, keyTokens = tonumber(ARGV[3]), tonumber(ARGV[5])
local requested, least, limit = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local deadline, keyId, ofDay, tokens = readCall(ARGV[2])
local hold, day = 0, get('day')
if requested then
  local used = tonumber(get('used'))
  if not deadline or not day or not used or tonumber(day) < math.floor(now / 86400000) then return { 'unknown' } end
  local own = ofDay == day and tonumber(tokens) or 0
  local held = tonumber(get('held') or 0) - own
  hold = math.min(limit - used - held, requested)
  if hold <= 0 or hold < least then return { 'quota', whole(used), whole(held), day } end
  set('call ' .. ARGV[2], table.concat({ deadline, keyId, day, whole(hold) }, ' '))
  add('held', hold - own)
end
if moreTokens then addBacklogs('', 0, moreTokens) end
if keyTokens then addBacklogs(' ' .. ARGV[4], 0, keyTokens) end
return { 'ok', whole(hold), day or '-1' }
`;

/**
 * Removes a call whose end is written in SQL. Arguments: time, call id, the day of its free quota and the tokens used;
 * what is added to the backlogs of the account; the key's id and what is added to its backlogs, empty without limits.
 * For a call that Redis does not know, the loaded sum may or may not include its tokens, so the sum is loaded again.
 */
export const settleScript = `${common}
local isKnown = removeCall(ARGV[2])
if ARGV[4] ~= '0' and ARGV[3] == get('day') then
  if isKnown and get('used') then add('used', ARGV[4]) else drop('used') end
end
local function correct(owner, requests, tokens)
  if (requests or 0) ~= 0 or (tokens or 0) ~= 0 then addBacklogs(owner, requests, tokens) end
end
correct('', tonumber(ARGV[5]), tonumber(ARGV[6]))
correct(' ' .. ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9]))
redis.call('PEXPIRE', account, keptMs)
return { 'ok' }
`;

/**
 * Renews the leases of running calls of an account, and restores calls that Redis has lost. Arguments: time, lease in
 * milliseconds, then of each call its id, key, day and tokens held.
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
 * Checks that this Redis belongs to modelgate, and that it accepts writes. Key: where the format stands. Argument: the
 * format. Returns the format found.
 */
export const formatScript = `
local kind = redis.call('TYPE', KEYS[1]).ok
local found = kind == 'string' and redis.call('GET', KEYS[1]) or kind
if found ~= 'none' and found ~= ARGV[1] then return found end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
`;
