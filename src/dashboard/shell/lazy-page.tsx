import { type ComponentType, useEffect } from "react";
import useSWR from "swr";
import { api, request, UnreachableError } from "../data/api.ts";
import { LoadError, Skeleton } from "../kit/feedback.tsx";

const retryMs = 3000;
const storageKey = "modelgate-reloaded-at";
/** A page that fails again this soon after a reload is broken, not outdated. */
const reloadAgainMs = 30_000;

/**
 * A page whose code is loaded when it is opened. Its code cannot be loaded while the gateway is away, nor in a tab that was
 * opened before an upgrade, which renames the files: then the tab is reloaded as soon as the gateway answers. React's
 * `lazy` would keep the failure for as long as the tab lives.
 */
export function LazyPage<Props extends object = object>({
  path,
  load,
  props,
}: {
  path: string;
  load: () => Promise<{ default: ComponentType<Props> }>;
  props?: Props;
}) {
  const { data, error, mutate } = useSWR(["page", path], load, { revalidateOnFocus: false, revalidateIfStale: false });
  const hasFailed = data === undefined && error !== undefined;
  useEffect(() => {
    if (!hasFailed) return undefined;
    const timer = setInterval(() => void reloadOnce(), retryMs);
    return () => clearInterval(timer);
  }, [hasFailed]);
  if (data !== undefined) return <data.default {...(props as Props)} />;
  if (error === undefined) return <Skeleton lines={6} />;
  return (
    <div className="card">
      <LoadError error={new UnreachableError()} onRetry={mutate} />
    </div>
  );
}

async function reloadOnce(): Promise<void> {
  try {
    await request(api.gateway.get());
    if (Date.now() - Number(sessionStorage.getItem(storageKey)) < reloadAgainMs) return;
    sessionStorage.setItem(storageKey, String(Date.now()));
    location.reload();
  } catch {
    // Still away, or storage is blocked: "Try again" remains.
  }
}
