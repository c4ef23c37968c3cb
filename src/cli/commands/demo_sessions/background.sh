(
    sleep 3
    echo 'fn audit() {}' > audit.rs
    git add audit.rs
    git commit -qm 'feat: audit'
) >/dev/null 2>&1 &
echo 'Started the audit in the background.'
