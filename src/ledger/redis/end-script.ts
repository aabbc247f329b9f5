import { endKey } from "./key-script.ts";
import { defineScript } from "./script.ts";

/**
 * Ends a call whose end is written in SQL: its hold goes, its charge is taken. A call without a hold here was either
 * counted by the seeding that dropped it, which left its mark, or the account has lost something and is seeded anew.
 * Either way a seeding under way is called off, for it may have read SQL before this call's end. Keys: account, holds,
 * deadlines, marks. Arguments: time, call id, charge, quota tokens, what is added to the backlogs of requests and
 * tokens in ms, and likewise to those of its key.
 */
export const endScript = defineScript(`
redis.call('HDEL', KEYS[1], 'guard')
local record = redis.call('HGET', KEYS[2], ARGV[2])
if not record then
  if redis.call('SREM', KEYS[4], ARGV[2]) == 1 then return 'counted' end
  redis.call('HDEL', KEYS[1], 'sound')
  return 'unsound'
end
redis.call('HDEL', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
local fields = redis.call('HMGET', KEYS[1], 'sound', 'day', 'requests', 'tokens', 'drained')
if not fields[1] then return 'unsound' end
local hold, holdTokens, day, month, keyId = string.match(record, '^(%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')
if day == '-1' then
  if hold ~= '0' then redis.call('HINCRBY', KEYS[1], 'held', '-' .. hold) end
  if ARGV[3] ~= '0' then redis.call('HINCRBY', KEYS[1], 'balance', '-' .. ARGV[3]) end
elseif day == fields[2] then
  if holdTokens ~= '0' then redis.call('HINCRBY', KEYS[1], 'heldTokens', '-' .. holdTokens) end
  if ARGV[4] ~= '0' then redis.call('HINCRBY', KEYS[1], 'used', ARGV[4]) end
end
${endKey}
local moreRequests, moreTokens = tonumber(ARGV[5]), tonumber(ARGV[6])
if moreRequests ~= 0 or moreTokens ~= 0 then
  local elapsed = math.max(0, now - tonumber(fields[5] or now))
  local requests = math.max(0, math.max(0, tonumber(fields[3] or 0) - elapsed) + moreRequests)
  local tokens = math.max(0, math.max(0, tonumber(fields[4] or 0) - elapsed) + moreTokens)
  redis.call('HSET', KEYS[1], 'requests', string.format('%.17g', requests),
    'tokens', string.format('%.17g', tokens), 'drained', string.format('%.0f', now))
end
return 'ok'
`);

/**
 * Extends the leases of holds; one that is missing makes the account unsound. Keys: account, holds, deadlines.
 * Arguments: time, lease in ms, call ids.
 */
export const renewScript = defineScript(`
local deadline = string.format('%.0f', now + tonumber(ARGV[2]))
for index = 3, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[index]) == 1 then
    redis.call('ZADD', KEYS[3], deadline, ARGV[index])
  else
    redis.call('HDEL', KEYS[1], 'sound')
  end
end
return 'ok'
`);
