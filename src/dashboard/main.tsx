import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { mutate, SWRConfig, type SWRConfiguration } from "swr";
import * as list from "../modules/pages.ts";
import { App } from "./app.tsx";
import { isUnauthorized } from "./data/api.ts";
import { ModulesProvider, type PageModule } from "./kit/modules.tsx";
import { cutSecretsOfAddress } from "./kit/url-state.ts";
import { applyTheme } from "./theme.ts";

const modules: readonly PageModule[] = Object.values(list);

applyTheme();
cutSecretsOfAddress();

/** A session that expired while a page was open: reloading `me` leads to the sign-in form. */
function onError(error: unknown, key: string): void {
  if (isUnauthorized(error) && key !== "me") void mutate("me");
}

/** Retries every few seconds, spread over the open tabs, so a page recovers soon after the gateway does. */
const onErrorRetry: SWRConfiguration["onErrorRetry"] = (error, ...[, , revalidate, { retryCount }]) => {
  if (!isUnauthorized(error)) setTimeout(() => void revalidate({ retryCount }), 3000 + Math.random() * 3000);
};

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <SWRConfig
        value={{
          onError,
          dedupingInterval: 1000,
          // So that a page without a connection says so.
          refreshWhenOffline: true,
          onErrorRetry,
        }}
      >
        <ModulesProvider value={modules}>
          <App />
        </ModulesProvider>
      </SWRConfig>
    </StrictMode>,
  );
}
