echo 'Thinking about it.'
