import { useState } from "react";
import { useMayChange } from "../../data/roles.ts";
import { Button } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Check } from "../../kit/field.tsx";
import { usePlace } from "../../kit/modules.tsx";
import { PageHead } from "../../kit/page.tsx";
import { useParam } from "../../kit/url-state.ts";
import { AccountKeys } from "./account-keys.tsx";
import { getKeyState, isOfPlayground, useKeys } from "./api.ts";
import { FindLeakedDialog } from "./find-leaked-dialog.tsx";
import { NewKeyDialog } from "./key-dialogs.tsx";

export default function KeysPage() {
  const keys = useKeys();
  const [isCreating, setCreating] = useState(false);
  const [isFinding, setFinding] = useState(false);
  const [shownKeys, setShownKeys] = useParam("keys", "active");
  const showsInactive = shownKeys === "all";
  const mayChange = useMayChange();
  const [atTop, badges] = [usePlace("keys-top"), usePlace("key-badges")];
  const createButton = mayChange && (
    <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
      Create API key
    </Button>
  );
  const empty = (
    <Empty icon="key" title="No active API keys">
      <p>Create a key to call the API. It works with any OpenAI SDK; set the base URL to this gateway.</p>
      <div className="row">{createButton}</div>
    </Empty>
  );
  return (
    <>
      <PageHead
        title="API keys"
        description="Apps use these keys to call the API on your account. A key is shown once, when it is created."
      >
        <Button onClick={() => setFinding(true)}>Find a leaked key</Button>
        {createButton}
      </PageHead>
      <div className="stack">
        {atTop.map((Part) => (
          <Part key={Part.name} />
        ))}
        <section className="card" aria-label="Your API keys">
          <Loaded state={keys}>
            {({ data, has_more }) => {
              const active = data.filter((key) => getKeyState(key) === "active" && !isOfPlayground(key));
              return (
                <>
                  <AccountKeys
                    keys={showsInactive ? data : active}
                    mayChange={mayChange}
                    badges={badges}
                    empty={empty}
                  />
                  {data.length > active.length && (
                    <div className="table-foot">
                      <Check
                        checked={showsInactive}
                        onCheck={(isChecked) => setShownKeys(isChecked ? "all" : "active")}
                      >
                        Show expired and revoked keys, and keys of the playground ({has_more && "the latest "}
                        {data.length - active.length})
                      </Check>
                    </div>
                  )}
                </>
              );
            }}
          </Loaded>
        </section>
      </div>
      {isFinding && <FindLeakedDialog scope="account" mayChange={mayChange} onClose={() => setFinding(false)} />}
      {isCreating && <NewKeyDialog onClose={() => setCreating(false)} />}
    </>
  );
}
