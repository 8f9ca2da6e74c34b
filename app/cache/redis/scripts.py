"""The Lua that Redis runs for us: what must happen whole, and the index that bounds a namespace.

Below ``gradserve:ns:NS:`` lie ``v:KEY`` (a value, or the list of its chunks), ``c:GEN:I`` (chunks)
and the index: ``meta`` (size and chunks by key), ``bytes``, ``lru``, ``names``, ``exp``. Scripts
build key names themselves, so this is for one Redis (with replicas, Sentinel), not for a Cluster.
"""

from __future__ import annotations

_INDEX = """
local P = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function chunks(key, act)
  local meta = redis.call('HGET', P .. 'meta', key)
  if not meta then return 0 end
  local size, gen, count = string.match(meta, '^(%d+) (%w*) (%d+)$')
  for i = 0, tonumber(count or 0) - 1 do act(P .. 'c:' .. gen .. ':' .. i) end
  return tonumber(size or 0)
end

local function drop(key)
  local size = chunks(key, function(chunk) redis.call('UNLINK', chunk) end)
  if size > 0 then redis.call('DECRBY', P .. 'bytes', size) end
  redis.call('HDEL', P .. 'meta', key)
  redis.call('ZREM', P .. 'lru', key)
  redis.call('ZREM', P .. 'names', key)
  redis.call('ZREM', P .. 'exp', key)
  return redis.call('UNLINK', P .. 'v:' .. key)
end

local function sweep(most)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', P .. 'exp', '-inf', now, 'LIMIT', 0, most)) do
    drop(key)
  end
end

local function expire(key, ttl)
  redis.call('PEXPIRE', P .. 'v:' .. key, ttl)
  chunks(key, function(chunk) redis.call('PEXPIRE', chunk, ttl + 60000) end)
  redis.call('ZADD', P .. 'exp', now + ttl * 1000, key)
end
"""

PUT = (
    _INDEX
    + """
-- KEYS: prefix, namespaces, lease or ''
-- ARGV: ns, key, head, size, gen, chunks, ttl ms or 0, limit, only absent, lease holder
local ns, key, head, size, gen, count = unpack(ARGV, 1, 6)
local ttl, limit = tonumber(ARGV[7]), tonumber(ARGV[8])
-- First, because Redis refuses a script for want of memory only at its first write, if that grows.
redis.call('SADD', KEYS[2], ns)
sweep(64)
if ARGV[10] ~= '' and redis.call('GET', KEYS[3]) ~= ARGV[10] then return 0 end
if ARGV[9] == '1' and redis.call('EXISTS', P .. 'v:' .. key) == 1 then return 0 end
drop(key)
redis.call('SET', P .. 'v:' .. key, head)
redis.call('HSET', P .. 'meta', key, size .. ' ' .. gen .. ' ' .. count)
redis.call('ZADD', P .. 'lru', now, key)
redis.call('ZADD', P .. 'names', 0, key)
if ttl > 0 then
  expire(key, ttl)
else
  chunks(key, function(chunk) redis.call('PERSIST', chunk) end)
end
local total = redis.call('INCRBY', P .. 'bytes', size)
while total > limit do
  local oldest = redis.call('ZRANGE', P .. 'lru', 0, 1)
  local out = oldest[1] ~= key and oldest[1] or oldest[2]
  if not out then break end
  drop(out)
  total = tonumber(redis.call('GET', P .. 'bytes'))
end
return 1
"""
)

DELETE = _INDEX + "return drop(ARGV[1])"

TOUCH = (
    _INDEX
    + """
-- ARGV: key, ttl ms or 0
local key, ttl = ARGV[1], tonumber(ARGV[2])
if redis.call('EXISTS', P .. 'v:' .. key) == 0 then return 0 end
redis.call('ZADD', P .. 'lru', now, key)
if ttl > 0 then expire(key, ttl) end
return 1
"""
)

SCAN = (
    _INDEX
    + """
-- ARGV: cursor or '', limit, reverse. Returns the keys looked at, and for each whether it lives.
local from, most = ARGV[1], ARGV[2]
local keys
if ARGV[3] == '1' then
  local top = from == '' and '+' or '(' .. from
  keys = redis.call('ZREVRANGEBYLEX', P .. 'names', top, '-', 'LIMIT', 0, most)
else
  local bottom = from == '' and '-' or '(' .. from
  keys = redis.call('ZRANGEBYLEX', P .. 'names', bottom, '+', 'LIMIT', 0, most)
end
local alive = {}
for i, key in ipairs(keys) do alive[i] = redis.call('EXISTS', P .. 'v:' .. key) end
return {keys, alive}
"""
)

USAGE = (
    _INDEX
    + """
sweep(1000)
return {redis.call('HLEN', P .. 'meta'), tonumber(redis.call('GET', P .. 'bytes') or '0')}
"""
)

ACQUIRE = """
-- KEYS: lease, last token. ARGV: owner, ttl ms. Returns the token, or 0 where another holds it.
local held = redis.call('GET', KEYS[1])
if held then
  local owner, token = string.match(held, '^(%w+):(%d+)$')
  return owner == ARGV[1] and tonumber(token) or 0
end
local time = redis.call('TIME')
local token = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
if token <= last then token = last + 1 end
local text = string.format('%.0f', token)
redis.call('SET', KEYS[2], text)
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. text, 'PX', ARGV[2])
return token
"""

RENEW = """
-- KEYS: lease. ARGV: holder, ttl ms
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""

RELEASE = """
-- KEYS: lease, wake channel. ARGV: holder, name to wake
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], ARGV[2])
return 1
"""

APPEND = """
-- KEYS: stream, wake channel. ARGV: payload, most events, ttl ms or 0, name to wake
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local id = last and tonumber(string.match(last[1], '^(%d+)')) + 1 or 1
redis.call('XADD', KEYS[1], 'MAXLEN', '=', ARGV[2], string.format('%.0f-0', id), 'd', ARGV[1])
if tonumber(ARGV[3]) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
redis.call('PUBLISH', KEYS[2], ARGV[4])
return id
"""
