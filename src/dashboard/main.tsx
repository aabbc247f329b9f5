import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { mutate, SWRConfig } from "swr";
import { App } from "./app.tsx";
import { isSignedOut } from "./data/api.ts";
import { applyTheme } from "./theme.ts";

applyTheme();

/** A session that ended while a page was open: who is signed in is asked anew, and the sign-in takes the page's place. */
function onError(error: unknown, key: string): void {
  if (isSignedOut(error) && key !== "me") void mutate("me");
}

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <SWRConfig
        value={{
          onError,
          dedupingInterval: 1000,
          shouldRetryOnError: (error: unknown) => !isSignedOut(error),
          errorRetryInterval: 5000,
        }}
      >
        <App />
      </SWRConfig>
    </StrictMode>,
  );
}
