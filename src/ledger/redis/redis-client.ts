import { Cluster, Redis, type RedisOptions } from "ioredis";

const connectMsMax = 1000;
/** How soon after a failure a connection is made anew, and how slowly at last. */
const retryMsMin = 100;
const retryMsMax = 1000;

/** One server, or those of a cluster; scripts and keys are the same to both. */
export type RedisClient = Redis | Cluster;

const retry = (times: number) => Math.min(retryMsMin * times, retryMsMax);

/** The client of one server; several URLs by comma are nodes of one cluster, which knows the others. */
export function clientOf(urls: string): RedisClient {
  const [first, ...others] = urls.split(",").map((url) => url.trim()) as [string, ...string[]];
  const options: RedisOptions = {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectMsMax,
    retryStrategy: retry,
  };
  if (others.length === 0) return new Redis(first, options);
  const { username, password, protocol } = new URL(first);
  return new Cluster([first, ...others], {
    lazyConnect: true,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    slotsRefreshTimeout: connectMsMax,
    clusterRetryStrategy: retry,
    redisOptions: {
      connectTimeout: connectMsMax,
      ...(username !== "" && { username: decodeURIComponent(username) }),
      ...(password !== "" && { password: decodeURIComponent(password) }),
      ...(protocol === "rediss:" && { tls: {} }),
    },
  });
}

/** Tells when a server was lost, or another has its place: what it kept may be gone in part. */
export function onLoss(client: RedisClient, lost: (error: Error) => void): void {
  client.on("error", lost);
  client.on("close", () => lost(new Error("The connection to Redis was closed")));
  if (client instanceof Redis) return;
  client.on("node error", lost);
  client.on("-node", () => lost(new Error("A node of the cluster is gone")));
  client.on("+node", () => lost(new Error("The cluster has another node")));
}

/** What each server that takes writes says of itself. */
export function serversOf(client: RedisClient): Promise<string[]> {
  const servers = client instanceof Redis ? [client] : client.nodes("master");
  return Promise.all(servers.map((server) => server.info("server")));
}
