import { useState } from "react";
import { type Key, stateOf, useKeys } from "../../data/keys.ts";
import { Icon } from "../../ui/icon.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { KeysTable } from "./keys-table.tsx";
import { NewKeyDialog } from "./new-key-dialog.tsx";

/** The keys by which programs call the API. */
export default function KeysPage() {
  const keys = useKeys();
  const [isMaking, setMaking] = useState(false);
  const [showsEnded, setShowsEnded] = useState(false);
  return (
    <>
      <PageHead
        title="API keys"
        about="A key lets a program call the API on your account. Its secret is shown once, when it is made."
      >
        <button type="button" className="btn btn-primary" onClick={() => setMaking(true)}>
          <Icon name="plus" size={15} />
          New API key
        </button>
      </PageHead>
      <section className="card" aria-label="Your API keys">
        <Loaded state={keys}>
          {({ data }) => (
            <Keys data={data} showsEnded={showsEnded} onShowEnded={setShowsEnded} onMake={() => setMaking(true)} />
          )}
        </Loaded>
      </section>
      {isMaking && <NewKeyDialog onClose={() => setMaking(false)} />}
    </>
  );
}

function Keys({
  data,
  showsEnded,
  onShowEnded,
  onMake,
}: {
  data: readonly Key[];
  showsEnded: boolean;
  onShowEnded: (shows: boolean) => void;
  onMake: () => void;
}) {
  const active = data.filter((key) => stateOf(key) === "active");
  const ended = data.length - active.length;
  const shown = (showsEnded ? data : active).toReversed();
  return (
    <>
      {shown.length === 0 ? (
        <Empty icon="key" title="No API key is active">
          <p>Make one to call the API from a program: any OpenAI SDK takes it, with the address of this gateway.</p>
          <div className="row">
            <button type="button" className="btn btn-primary" onClick={onMake}>
              <Icon name="plus" size={15} />
              New API key
            </button>
          </div>
        </Empty>
      ) : (
        <KeysTable keys={shown} />
      )}
      {ended > 0 && (
        <div className="table-foot">
          <label className="check">
            <input type="checkbox" checked={showsEnded} onChange={(event) => onShowEnded(event.target.checked)} />
            Show expired and revoked keys ({ended})
          </label>
        </div>
      )}
    </>
  );
}
