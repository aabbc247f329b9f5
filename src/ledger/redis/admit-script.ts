import { checkKey, readKey, takeKey } from "./key-script.ts";
import { defineScript } from "./script.ts";

/**
 * Reads an account, or says that it must be seeded first: it is missing, of another Redis's life, or a hold expired. A
 * clock that steps back drains nothing and is followed, so that nobody waits for it to catch up.
 */
const readAccount = `
local fields = redis.call('HMGET', KEYS[1],
  'sound', 'balance', 'held', 'day', 'used', 'heldTokens', 'requests', 'tokens', 'drained')
if fields[1] ~= ARGV[2] then return 'unsound' end
local oldest = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
if oldest[2] and tonumber(oldest[2]) <= now then return 'unsound' end
local balance, held = tonumber(fields[2]), tonumber(fields[3])
local day, used, heldTokens = tonumber(fields[4]), tonumber(fields[5]), tonumber(fields[6])
local requests, tokens = tonumber(fields[7] or 0), tonumber(fields[8] or 0)
local elapsed = now - tonumber(fields[9] or now)
if elapsed > 0 then
  requests = math.max(0, requests - elapsed)
  tokens = math.max(0, tokens - elapsed)
elseif elapsed < 0 then
  redis.call('HSET', KEYS[1], 'drained', string.format('%.0f', now))
end
local today = math.floor(now / 86400000)
local turned = today > day
if turned then
  day, used, heldTokens = today, 0, 0
end
`;

/**
 * Admits a call in one step, or names the limit that blocks. A seeding under way is called off: it does not know of this
 * call, which may end in SQL before that is read, and its charge would be counted with the balance and once more by its
 * end. Keys: account, holds, deadlines. Arguments: time, the life
 * of Redis, call id, lease in ms, what the request and its tokens add to the backlogs in ms, calls at once, whether
 * it is premium, the hold wanted, the daily quota; of a key with bounds of its own its id, its budget, what the request
 * and its tokens add to its backlogs in ms, and its calls at once, each empty where it has none.
 */
export const admitScript = defineScript(`
${readAccount}
local minute, tolerance = 60000, 0.001
local keyId = ARGV[11]
${readKey}
${checkKey}
local wait = requests + tonumber(ARGV[5]) - minute
if wait > tolerance then return string.format('requests %.17g', wait) end
wait = tokens + math.min(tonumber(ARGV[6]), minute) - minute
if wait > tolerance then return string.format('tokens %.17g', wait) end
local callsMax = tonumber(ARGV[7])
if callsMax and redis.call('HLEN', KEYS[2]) >= callsMax then return 'calls' end
local premium = ARGV[8] == '1'
local available = premium and balance - held or tonumber(ARGV[10]) - used - heldTokens
if available <= 0 then
  if premium then return string.format('balance %.0f %.0f', balance, held) end
  return string.format('quota %.0f %.0f %.0f', used, heldTokens, day)
end
local inBudget = budget and budget - spent - keyHeld or available
local wanted = tonumber(ARGV[9])
local hold = math.min(available, inBudget, wanted)
if hold < wanted then
  local field = premium and 'partial' or 'partialDraw'
  local other = redis.call('HGET', KEYS[1], field)
  local otherHold = other and redis.call('HGET', KEYS[2], other)
  if otherHold and string.match(otherHold, '^%S+ %S+ (%S+)') == (premium and '-1' or string.format('%.0f', day)) then
    if inBudget < available then return string.format('budget %.0f %.0f %.0f', spent, keyHeld, month) end
    if premium then return string.format('balance %.0f %.0f', balance, held) end
    return string.format('quota %.0f %.0f %.0f', used, heldTokens, day)
  end
end
local record = premium and string.format('%.0f 0 -1', hold) or string.format('0 %.0f %.0f', hold, day)
if keyId then record = record .. string.format(' %.0f ', budget and month or -1) .. keyId end
if redis.call('HSETNX', KEYS[2], ARGV[3], record) == 0 then return 'running' end
redis.call('HDEL', KEYS[1], 'guard')
redis.call('ZADD', KEYS[3], string.format('%.0f', now + tonumber(ARGV[4])), ARGV[3])
if hold < wanted then redis.call('HSET', KEYS[1], premium and 'partial' or 'partialDraw', ARGV[3]) end
requests = requests + tonumber(ARGV[5])
tokens = tokens + tonumber(ARGV[6])
redis.call('HSET', KEYS[1], 'requests', string.format('%.17g', requests), 'tokens', string.format('%.17g', tokens),
  'drained', string.format('%.0f', now))
if turned then
  redis.call('HSET', KEYS[1], 'day', string.format('%.0f', day), 'used', '0', 'heldTokens', '0')
end
redis.call('HINCRBY', KEYS[1], premium and 'held' or 'heldTokens', string.format('%.0f', hold))
${takeKey}
local answer = string.format('ok %.0f %.0f %.17g %.17g', hold, day, requests, tokens)
if not keyId then return answer end
return answer .. string.format(' %.0f %.17g %.17g', budget and month or -1, keyRequests, keyTokens)
`);

/** Tells an account's figures, and those of one of its keys. Keys and the first two arguments as above, then a key's id. */
export const readScript = defineScript(`
${readAccount}
local keyId = ARGV[3]
${readKey}
local answer = string.format('ok %.0f %.0f %.0f %.0f %.0f %.17g %.17g %.0f',
  balance, held, day, used, heldTokens, requests, tokens, redis.call('HLEN', KEYS[2]))
if not keyId then return answer end
return answer .. string.format(' %.0f %.0f %.0f %.17g %.17g %.0f', month, spent, keyHeld, keyRequests, keyTokens, keyCalls)
`);
