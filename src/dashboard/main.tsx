import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { mutate, SWRConfig } from "swr";
import { App } from "./app.tsx";
import { isUnauthorized } from "./data/api.ts";
import { applyTheme } from "./theme.ts";

applyTheme();

/** A session that expired while a page was open: reloading `me` leads to the sign-in form. */
function onError(error: unknown, key: string): void {
  if (isUnauthorized(error) && key !== "me") void mutate("me");
}

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <SWRConfig
        value={{
          onError,
          dedupingInterval: 1000,
          shouldRetryOnError: (error: unknown) => !isUnauthorized(error),
          errorRetryInterval: 5000,
        }}
      >
        <App />
      </SWRConfig>
    </StrictMode>,
  );
}
