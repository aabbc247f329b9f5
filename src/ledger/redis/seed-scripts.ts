import { seedKeys } from "./key-script.ts";
import { defineScript } from "./script.ts";

/**
 * Begins a seeding: leaves its token as a guard, and tells the holds known here. Keys: account, holds, deadlines.
 * Arguments: time, token. Answers two lists: ids of expired holds, ids of all.
 */
export const beginScript = defineScript(`
redis.call('HSET', KEYS[1], 'guard', ARGV[2])
return { redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', now)), redis.call('HKEYS', KEYS[2]) }
`);

/**
 * Ends a seeding with what SQL said after its begin, unless a call began or ended or another seeding began meanwhile. Keys:
 * account, holds, deadlines, marks. Arguments: time, token, the life of Redis, lease in ms, balance, latest quota day,
 * tokens used on it, then four counted lists: open calls (id, hold, tokens, day, month, key), holds to be dropped, those
 * of the dropped whose charge is in the balance already, and what budgets paid (key, month,
 * nanodollars); last the ids of the open calls that hold less money or tokens than they may cost, empty without one.
 */
export const seedScript = defineScript(`
if redis.call('HGET', KEYS[1], 'guard') ~= ARGV[2] then return 'again' end
local at = 8
local deadline = string.format('%.0f', now + tonumber(ARGV[4]))
for _ = 1, tonumber(ARGV[at]) do
  local record = ARGV[at + 2] .. ' ' .. ARGV[at + 3] .. ' ' .. ARGV[at + 4]
    .. ' ' .. ARGV[at + 5] .. ' ' .. ARGV[at + 6]
  if redis.call('HSETNX', KEYS[2], ARGV[at + 1], record) == 1 then
    redis.call('ZADD', KEYS[3], deadline, ARGV[at + 1])
  end
  at = at + 6
end
at = at + 1
for _ = 1, tonumber(ARGV[at]) do
  redis.call('HDEL', KEYS[2], ARGV[at + 1])
  redis.call('ZREM', KEYS[3], ARGV[at + 1])
  at = at + 1
end
at = at + 1
for _ = 1, tonumber(ARGV[at]) do
  redis.call('SADD', KEYS[4], ARGV[at + 1])
  at = at + 1
end
redis.call('PEXPIRE', KEYS[4], 600000)
at = at + 1
${seedKeys}
if ARGV[at + 1] ~= '' then redis.call('HSET', KEYS[1], 'partial', ARGV[at + 1]) end
if ARGV[at + 2] ~= '' then redis.call('HSET', KEYS[1], 'partialDraw', ARGV[at + 2]) end
local day = math.max(math.floor(now / 86400000), tonumber(ARGV[6]), tonumber(redis.call('HGET', KEYS[1], 'day') or 0))
local held, heldTokens = 0, 0
for _, record in ipairs(redis.call('HVALS', KEYS[2])) do
  local hold, tokens, holdDay = string.match(record, '^(%S+) (%S+) (%S+)')
  held = held + tonumber(hold)
  if tonumber(holdDay) == day then heldTokens = heldTokens + tonumber(tokens) end
end
redis.call('HDEL', KEYS[1], 'guard')
redis.call('HSET', KEYS[1], 'sound', ARGV[3], 'balance', ARGV[5], 'held', string.format('%.0f', held),
  'day', string.format('%.0f', day), 'used', tonumber(ARGV[6]) == day and ARGV[7] or '0',
  'heldTokens', string.format('%.0f', heldTokens))
redis.call('PEXPIRE', KEYS[1], 172800000)
return 'ok'
`);

/**
 * Says whose this Redis is, and by writing proves that it can be written. Key: the format. Arguments: time, format.
 * Answers the format found.
 */
export const formatScript = defineScript(`
local kind = redis.call('TYPE', KEYS[1]).ok
local found = kind == 'string' and redis.call('GET', KEYS[1]) or kind
if found ~= 'none' and found ~= ARGV[2] then return found end
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]
`);
