/**
 * Reads what a key with bounds of its own has used, by the id in the local `keyId`; without one it reads nothing. Its
 * figures stand beside those of its account, under names that begin with it, so that no one of them is lost alone. A
 * month is named by its first day, and never goes back. (Days into months: howardhinnant.github.io/date_algorithms.html)
 */
export const readKey = `
local key, month, spent, keyHeld, keyRequests, keyTokens, keyCalls
local monthTurned = false
if keyId then
  key = 'key ' .. keyId .. ' '
  local own = redis.call('HMGET', KEYS[1], key .. 'month', key .. 'spent', key .. 'held', key .. 'requests',
    key .. 'tokens', key .. 'drained', key .. 'calls')
  spent, keyHeld, keyCalls = tonumber(own[2] or 0), tonumber(own[3] or 0), tonumber(own[7] or 0)
  keyRequests, keyTokens = tonumber(own[4] or 0), tonumber(own[5] or 0)
  local keyElapsed = now - tonumber(own[6] or now)
  if keyElapsed > 0 then
    keyRequests = math.max(0, keyRequests - keyElapsed)
    keyTokens = math.max(0, keyTokens - keyElapsed)
  elseif keyElapsed < 0 then
    redis.call('HSET', KEYS[1], key .. 'drained', string.format('%.0f', now))
  end
  local days = math.floor(now / 86400000) + 719468
  local ofEra = days % 146097
  local year = math.floor((ofEra - math.floor(ofEra / 1460) + math.floor(ofEra / 36524) - math.floor(ofEra / 146096)) / 365)
  local ofYear = ofEra - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local fromMarch = math.floor((5 * ofYear + 2) / 153)
  local thisMonth = days - 719468 - (ofYear - math.floor((153 * fromMarch + 2) / 5))
  month = tonumber(own[1] or -1)
  if thisMonth > month then
    monthTurned = true
    month, spent, keyHeld = thisMonth, 0, 0
  end
end
`;

/** Names the bound of the key that blocks. Arguments as those of an admission, from the key's id on. */
export const checkKey = `
local budget
if keyId then
  budget = tonumber(ARGV[12])
  if budget and budget - spent - keyHeld <= 0 then
    return string.format('budget %.0f %.0f %.0f', spent, keyHeld, month)
  end
  local request, ofTokens, keyCallsMax = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])
  if request then
    local wait = keyRequests + request - minute
    if wait > tolerance then return string.format('key-requests %.17g', wait) end
    keyRequests = keyRequests + request
  end
  if ofTokens then
    local wait = keyTokens + math.min(ofTokens, minute) - minute
    if wait > tolerance then return string.format('key-tokens %.17g', wait) end
    keyTokens = keyTokens + ofTokens
  end
  if keyCallsMax and keyCalls >= keyCallsMax then return 'key-calls' end
end
`;

/** Writes what an admitted call takes of its key: a hold of `hold`. */
export const takeKey = `
if keyId then
  redis.call('HSET', KEYS[1], key .. 'requests', string.format('%.17g', keyRequests),
    key .. 'tokens', string.format('%.17g', keyTokens), key .. 'drained', string.format('%.0f', now))
  redis.call('HINCRBY', KEYS[1], key .. 'calls', 1)
  if budget then
    if monthTurned then
      redis.call('HSET', KEYS[1], key .. 'month', string.format('%.0f', month), key .. 'spent', '0', key .. 'held', '0')
    end
    redis.call('HINCRBY', KEYS[1], key .. 'held', string.format('%.0f', hold))
  end
end
`;

/** Gives a call's key back what the record of its hold says, and takes its charge. Arguments as those of an end. */
export const endKey = `
if keyId ~= '' then
  local key = 'key ' .. keyId .. ' '
  local own = redis.call('HMGET', KEYS[1], key .. 'month', key .. 'requests', key .. 'tokens', key .. 'drained')
  redis.call('HINCRBY', KEYS[1], key .. 'calls', -1)
  if month == own[1] then
    if hold ~= '0' then redis.call('HINCRBY', KEYS[1], key .. 'held', '-' .. hold) end
    redis.call('HINCRBY', KEYS[1], key .. 'spent', ARGV[3])
  end
  local requestsMs, tokensMs = tonumber(ARGV[7] or 0), tonumber(ARGV[8] or 0)
  if requestsMs ~= 0 or tokensMs ~= 0 then
    local elapsed = math.max(0, now - tonumber(own[4] or now))
    local requests = math.max(0, math.max(0, tonumber(own[2] or 0) - elapsed) + requestsMs)
    local tokens = math.max(0, math.max(0, tonumber(own[3] or 0) - elapsed) + tokensMs)
    redis.call('HSET', KEYS[1], key .. 'requests', string.format('%.17g', requests),
      key .. 'tokens', string.format('%.17g', tokens), key .. 'drained', string.format('%.0f', now))
  end
end
`;

/**
 * Seeds the keys of an account: what the budgets paid by the list at `at` (key, month, nanodollars), what they hold and
 * how many calls run by the records of holds. Backlogs per minute are kept, and what is used up by time goes.
 */
export const seedKeys = `
local keys = {}
local function keyOf(id)
  keys[id] = keys[id] or { month = -1, paid = -1, spent = '0', calls = 0, holds = {} }
  return keys[id]
end
local found = redis.call('HGETALL', KEYS[1])
local drained, backlog = {}, {}
for index = 1, #found, 2 do
  local id, name = string.match(found[index], '^key (%S+) (%S+)$')
  if id then
    local value = tonumber(found[index + 1])
    local own = keyOf(id)
    if name == 'month' then own.month = value end
    if name == 'drained' then drained[id] = value end
    if name == 'requests' or name == 'tokens' then backlog[id] = math.max(backlog[id] or 0, value) end
    if name == 'month' or name == 'spent' or name == 'held' or name == 'calls' then
      redis.call('HDEL', KEYS[1], found[index])
    end
  end
end
for _ = 1, tonumber(ARGV[at]) do
  local own = keyOf(ARGV[at + 1])
  own.paid, own.spent = tonumber(ARGV[at + 2]), ARGV[at + 3]
  own.month = math.max(own.month, own.paid)
  at = at + 3
end
for _, record in ipairs(redis.call('HVALS', KEYS[2])) do
  local hold, _, _, holdMonth, id = string.match(record, '^(%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')
  if id ~= '' then
    local own = keyOf(id)
    own.calls = own.calls + 1
    local month = tonumber(holdMonth)
    own.month = math.max(own.month, month)
    own.holds[month] = (own.holds[month] or 0) + tonumber(hold)
  end
end
local lastMonth = math.floor(now / 86400000) - 62
for id, own in pairs(keys) do
  local key = 'key ' .. id .. ' '
  if own.calls > 0 then redis.call('HSET', KEYS[1], key .. 'calls', tostring(own.calls)) end
  if own.month >= lastMonth then
    redis.call('HSET', KEYS[1], key .. 'month', string.format('%.0f', own.month),
      key .. 'spent', own.paid == own.month and own.spent or '0',
      key .. 'held', string.format('%.0f', own.holds[own.month] or 0))
  end
  if drained[id] and own.calls == 0 and drained[id] + (backlog[id] or 0) < now then
    redis.call('HDEL', KEYS[1], key .. 'requests', key .. 'tokens', key .. 'drained')
  end
end
`;
