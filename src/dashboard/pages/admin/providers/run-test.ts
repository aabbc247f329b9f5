import { api, request } from "../../../data/api.ts";
import { refreshProviders } from "../../../data/providers.ts";
import { toast, toastError } from "../../../ui/toast.tsx";

/** Calls the provider once and says how it went. */
export async function runTest(name: string, keyId?: string): Promise<void> {
  try {
    const wish = keyId === undefined ? {} : { key_id: keyId };
    const { ok, error, model, host, ms } = await request(api.admin.providers({ id: name }).test.post(wish));
    if (ok) toast(`${name} works: ${host} answered ${model} in ${ms} ms`);
    else toastError(new Error(`${name} does not work. ${error}`));
  } catch (error) {
    toastError(error);
  }
  await refreshProviders();
}
