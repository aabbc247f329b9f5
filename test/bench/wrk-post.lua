-- POSTs the bench's question and prints what the run gave as one line of JSON. wrk hands on what stands after "--".
function init(args)
  local file = assert(io.open(args[1], "r"))
  wrk.method = "POST"
  wrk.body = file:read("*a")
  wrk.headers["content-type"] = "application/json"
  wrk.headers["authorization"] = args[2]:find(" ") and args[2] or "Bearer " .. args[2]
  for i = 4, #args - 1, 2 do wrk.headers[args[i]] = args[i + 1] end
  file:close()
  local count = tonumber(args[3])
  if count > 0 then rotate(args[2], count) end
end

-- Asks with so many keys by turns, in an order that is no order; the pattern has a place for their number.
function rotate(pattern, count)
  local requests = {}
  for number = 1, count do
    wrk.headers["authorization"] = "Bearer " .. string.format(pattern, number)
    requests[number] = wrk.format()
  end
  local at = 0
  function request()
    at = (at + 7919) % count
    return requests[at + 1]
  end
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    'report {"calls":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"bytes":%d,"failed":%d,"refused":%d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, summary.bytes,
    errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
