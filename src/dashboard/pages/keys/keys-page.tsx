import { useState } from "react";
import { getKeyState, type Key, useKeys } from "../../data/keys.ts";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHead } from "../../ui/page.tsx";
import { KeysTable } from "./keys-table.tsx";
import { NewKeyDialog } from "./new-key-dialog.tsx";

/** The API keys of the account. */
export default function KeysPage() {
  const keys = useKeys();
  const [isCreating, setCreating] = useState(false);
  const [showsInactive, setShowsInactive] = useState(false);
  return (
    <>
      <PageHead
        title="API keys"
        description="Apps use these keys to call the API on your account. A key is shown once, when it is created."
      >
        <button type="button" className="btn btn-primary" onClick={() => setCreating(true)}>
          <Icon name="plus" size={15} />
          Create API key
        </button>
      </PageHead>
      <section className="card" aria-label="Your API keys">
        <Loaded state={keys}>
          {({ data }) => (
            <Keys
              data={data}
              showsInactive={showsInactive}
              onShowInactive={setShowsInactive}
              onCreate={() => setCreating(true)}
            />
          )}
        </Loaded>
      </section>
      {isCreating && <NewKeyDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function Keys({
  data,
  showsInactive,
  onShowInactive,
  onCreate,
}: {
  data: readonly Key[];
  showsInactive: boolean;
  onShowInactive: (shows: boolean) => void;
  onCreate: () => void;
}) {
  const active = data.filter((key) => getKeyState(key) === "active");
  const inactive = data.length - active.length;
  const shown = (showsInactive ? data : active).toReversed();
  return (
    <>
      {shown.length === 0 ? (
        <Empty icon="key" title="No active API keys">
          <p>Create a key to call the API. It works with any OpenAI SDK; set the base URL to this gateway.</p>
          <div className="row">
            <button type="button" className="btn btn-primary" onClick={onCreate}>
              <Icon name="plus" size={15} />
              Create API key
            </button>
          </div>
        </Empty>
      ) : (
        <KeysTable keys={shown} />
      )}
      {inactive > 0 && (
        <div className="table-foot">
          <label className="check">
            <input type="checkbox" checked={showsInactive} onChange={(event) => onShowInactive(event.target.checked)} />
            Show expired and revoked keys ({inactive})
          </label>
        </div>
      )}
    </>
  );
}
