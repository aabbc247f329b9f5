-- POSTs the bench's question and prints what the run gave as one line of JSON. wrk hands on what stands after "--".
function init(args)
  local file = assert(io.open(args[1], "r"))
  wrk.method = "POST"
  wrk.body = file:read("*a")
  wrk.headers["content-type"] = "application/json"
  wrk.headers["authorization"] = "Bearer " .. args[2]
  file:close()
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    'report {"calls":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"bytes":%d,"failed":%d,"refused":%d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, summary.bytes,
    errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
